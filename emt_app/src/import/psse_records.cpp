#include "import/psse_records.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

namespace emt {
namespace {

constexpr int kFirstPsseVersion = 32, kLastPsseVersion = 34;

/// Name for messages, and a word that identifies the section: comments such as "BEGIN FIXED SHUNT DATA" must not name
/// another one.
struct PsseSectionName {
    const char *name, *word;
};
constexpr std::array<PsseSectionName, static_cast<std::size_t>(PsseSection::count)> kPsseSectionNames{{
    {"system-wide", "SYSTEM-WIDE"}, {"bus", "BUS"}, {"load", "LOAD"}, {"fixed shunt", "FIXED"}, {"generator", "GENERATOR"}, {"branch", "BRANCH"},
    {"system switching device", "SWITCHING"}, {"transformer", "TRANSFORMER"}, {"area", "AREA"}, {"two-terminal DC", "TWO-TERMINAL"}, {"VSC DC", "VSC"},
    {"impedance correction", "IMPEDANCE"}, {"multi-terminal DC", "MULTI-TERMINAL"}, {"multi-section line", "MULTI-SECTION"}, {"zone", "ZONE"},
    {"inter-area transfer", "TRANSFER"}, {"owner", "OWNER"}, {"FACTS", "FACTS"}, {"switched shunt", "SWITCHED"}, {"GNE", "GNE"},
    {"induction machine", "INDUCTION"}}};

const PsseSectionName& named(PsseSection s) { return kPsseSectionNames[static_cast<std::size_t>(s)]; }

constexpr std::string_view kDividers = " \t\r,/";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

/// Parses a finite number with Fortran's exponents and signs, or returns nothing.
std::optional<double> psse_number(std::string text) {
    std::replace_if(text.begin(), text.end(), [](char c) { return c == 'D' || c == 'd'; }, 'E');
    const char *first = text.data(), *last = first + text.size();
    if (first != last && *first == '+') ++first;
    double value = 0;
    const auto [end, problem] = std::from_chars(first, last, value);
    if (problem != std::errc() || end != last || !std::isfinite(value)) return {};
    return value;
}

std::size_t psse_count(const PsseLine& line, std::size_t place) {
    const std::optional<double> value = place < line.field.size() ? psse_number(line.field[place]) : std::nullopt;
    return value && *value >= 0 && *value < 1e6 ? static_cast<std::size_t>(*value) : 0;
}

class PsseFileReader {
public:
    PsseFileReader(const std::string& text, const std::string& origin) : rest_(text) { out_.origin = origin; }

    PsseFile run() {
        header();
        at_ = out_.version >= 34 ? PsseSection::system_wide : PsseSection::bus;
        while (next()) {
            const std::string& first = line_.field.front();
            if (line_.field.size() == 1 && (first == "Q" || first == "q")) return std::move(out_);
            if (at_ == PsseSection::count) {
                if (out_.version >= 34) return std::move(out_);  // substations divide buses into nodes, which this program ignores
                refuse("a line after the last section: expected 'Q'");
            }
            // Points of an impedance correction table may also begin with 0.
            if (first == "0" && (at_ != PsseSection::impedance_correction || line_.field.size() == 1))
                end_section();
            else
                record();
        }
        if (at_ < PsseSection::gne) refuse(std::string("the file ends in or before its ") + named(at_).name + " data: expected 'Q'");
        return std::move(out_);
    }

private:
    [[noreturn]] void refuse(const std::string& why, int line = 0) const {
        throw CaseError(out_.origin + ", line " + std::to_string(line > 0 ? line : line_.number) + ": [psse] " + why + "\n");
    }

    /// Reads the next line unchanged; returns false at the end of the file.
    bool raw(std::string_view& line) {
        if (rest_.empty()) return false;
        const std::size_t end = std::min(rest_.find('\n'), rest_.size());
        line = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        ++line_.number;
        return true;
    }
    /// Reads the next line with fields into line_ and comment_.
    bool next() {
        std::string_view line;
        while (raw(line)) {
            if (trimmed(line).starts_with("@!")) continue;
            split(line);
            if (!line_.field.empty()) return true;
        }
        return false;
    }
    void split(std::string_view line) {
        line_.field.clear();
        comment_ = {};
        bool divided = true;  // after a comma or at the beginning, a comma marks an omitted field
        for (std::size_t i = 0; i < line.size();) {
            const char c = line[i];
            if (is_blank(c)) {
                ++i;
            } else if (c == '/') {
                comment_ = line.substr(i);
                return;
            } else if (c == ',') {
                if (divided) line_.field.emplace_back();
                divided = true;
                ++i;
            } else {
                const bool quoted = c == '\'' || c == '"';
                const std::size_t begin = quoted ? i + 1 : i, end = quoted ? closing_quote(line, i) : std::min(line.find_first_of(kDividers, begin), line.size());
                line_.field.emplace_back(trimmed(line.substr(begin, end - begin)));
                divided = false;
                i = quoted ? end + 1 : end;
            }
        }
    }

    /// Programs write names such as O'Neill unchanged or with a doubled quote: the last quote stands before a divider.
    std::size_t closing_quote(std::string_view line, std::size_t open) const {
        for (std::size_t i = open + 1; i < line.size(); ++i) {
            if (line[i] != line[open]) continue;
            if (i + 1 == line.size() || kDividers.find(line[i + 1]) != kDividers.npos) return i;
            if (line[i + 1] == line[open]) ++i;
        }
        refuse(std::string("the text after ") + line[open] + " is never closed: expected another " + line[open]);
    }

    void header() {
        if (!next()) refuse("the file is empty: expected IC, SBASE, REV, XFRRAT, NXFRAT, BASFRQ");
        Diagnostics problems;
        PsseRow row(out_, line_, problems);
        if (row.whole(0, "IC", 0) != 0) row.refuse("IC (field 1) is not 0: expected a whole case, not changes of one");
        const long version = row.whole(2, "REV", 0);
        if (version < kFirstPsseVersion || version > kLastPsseVersion)
            row.refuse("version 33 or 34 expected (32 has the same records), found " + (version == 0 ? std::string("none") : std::to_string(version)));
        out_.version = static_cast<int>(version);
        out_.mva = row.number(1, "SBASE", 100.0);
        out_.frequency_hz = row.number(5, "BASFRQ", 0.0);
        if (!(out_.mva > 0)) row.refuse("SBASE (field 2) must be positive");
        if (out_.frequency_hz < 0) row.refuse("BASFRQ (field 6) must be positive");
        if (!problems.empty()) throw CaseError(problems.text());
        std::string_view title;
        if (!raw(title) || !raw(title)) refuse("the file ends before its two title lines");
    }

    void end_section() {
        const auto at = static_cast<std::size_t>(at_) + 1;
        at_ = static_cast<PsseSection>(at);
        if (out_.version < 34 && at_ == PsseSection::switching_device) at_ = PsseSection::transformer;
        // The comment that most programs write reveals a file with another order, which would be misread.
        std::string comment(comment_);
        std::transform(comment.begin(), comment.end(), comment.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        const std::size_t begin = comment.find("BEGIN ");
        if (begin == comment.npos || at_ == PsseSection::count || comment.find(named(at_).word, begin) != comment.npos) return;
        for (const PsseSectionName& other : kPsseSectionNames)
            if (comment.find(other.word, begin) != comment.npos)
                refuse(std::string(other.name) + " data are announced: expected " + named(at_).name + " data in version " + std::to_string(out_.version));
    }

    void record() {
        if (at_ == PsseSection::system_wide && !std::isalpha(static_cast<unsigned char>(line_.field.front()[0])))
            refuse("expected system-wide data of version 34, which begin with a word, or '0'");
        if (at_ == PsseSection::gne) refuse("a GNE device is not supported: expected a case without");
        PsseRecord record{line_};
        for (std::size_t lines = lines_of_record(); record.size() < lines;) {
            const bool there = next();
            if (!there || comment_.find("END OF") != comment_.npos)
                refuse(std::string("a record of ") + named(at_).name + " data has " + std::to_string(record.size()) + " lines: expected " + std::to_string(lines),
                       record.front().number);
            record.push_back(line_);
        }
        out_.section[static_cast<std::size_t>(at_)].push_back(std::move(record));
    }
    [[nodiscard]] std::size_t lines_of_record() const {
        switch (at_) {
            case PsseSection::transformer: return psse_count(line_, 2) == 0 ? 4 : 5;
            case PsseSection::two_terminal_dc:
            case PsseSection::vsc_dc: return 3;
            case PsseSection::multi_terminal_dc: return 1 + psse_count(line_, 1) + psse_count(line_, 2) + psse_count(line_, 3);
            default: return 1;
        }
    }

    std::string_view rest_, comment_;
    PsseLine line_{};
    PsseSection at_ = PsseSection::bus;
    PsseFile out_;
};

std::string at_field(const char* name, std::size_t place) { return std::string(name) + " (field " + std::to_string(place + 1) + ")"; }

}  // namespace

double PsseRow::number(std::size_t place, const char* name, std::optional<double> omitted) {
    if (place >= line_.field.size() || line_.field[place].empty()) {
        if (!omitted) refuse(at_field(name, place) + " is missing: expected a number");
        return omitted.value_or(0);
    }
    const std::optional<double> value = psse_number(line_.field[place]);
    if (!value) refuse(at_field(name, place) + " is '" + line_.field[place] + "': expected a number");
    return value.value_or(0);
}

long PsseRow::whole(std::size_t place, const char* name, std::optional<long> omitted) {
    const double value = number(place, name, omitted ? std::optional(static_cast<double>(*omitted)) : std::nullopt);
    if (value == std::floor(value) && std::abs(value) < 1e9) return std::lround(value);
    refuse(at_field(name, place) + " is '" + line_.field[place] + "': expected a whole number");
    return 0;
}

std::string PsseRow::id(std::size_t place) const { return place < line_.field.size() && !line_.field[place].empty() ? line_.field[place] : "1"; }

void PsseRow::refuse(const std::string& why) {
    sound_ = false;
    problems_.add(where(), "psse", why);
}

std::string PsseRow::where() const { return file_.origin + ", line " + std::to_string(line_.number); }

PsseFile read_psse_file(const std::string& text, const std::string& origin) { return PsseFileReader(text, origin).run(); }

}  // namespace emt
