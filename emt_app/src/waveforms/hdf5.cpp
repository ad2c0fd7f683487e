#include "waveforms/hdf5.hpp"

#include <stdexcept>

#ifdef EMT_HAVE_HDF5
#include <hdf5.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#endif

namespace emt {

#ifdef EMT_HAVE_HDF5
namespace {

static_assert(std::endian::native == std::endian::little, "records hold numbers as memory does, and the data set is little-endian");

/// An identifier of the library; the destructor closes it with the function of its kind.
class Handle {
public:
    Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {
        if (id < 0) throw std::runtime_error("the HDF5 library cannot make the head of a file of waveforms");
    }
    ~Handle() { close_(id_); }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    operator hid_t() const { return id_; }

private:
    hid_t id_;
    herr_t (*close_)(hid_t);
};

void check(herr_t status) {
    if (status < 0) throw std::runtime_error("the HDF5 library cannot make the head of a file of waveforms");
}

/// Sets `type`, a copy of H5T_C_S1, to UTF-8 of this many bytes, padded with zeros.
void as_text(hid_t type, std::size_t bytes) {
    check(H5Tset_size(type, std::max<std::size_t>(bytes, 1)));
    check(H5Tset_strpad(type, H5T_STR_NULLPAD));
    check(H5Tset_cset(type, H5T_CSET_UTF8));
}

void put_texts(hid_t file, hid_t creation, const char* name, const std::vector<std::string>& texts) {
    std::size_t longest = 1;
    for (const std::string& text : texts) longest = std::max(longest, text.size());
    std::vector<char> padded(texts.size() * longest);
    for (std::size_t i = 0; i < texts.size(); ++i) std::copy(texts[i].begin(), texts[i].end(), padded.begin() + static_cast<std::ptrdiff_t>(i * longest));
    const hsize_t count = texts.size();
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose), space(H5Screate_simple(1, &count, nullptr), H5Sclose);
    as_text(type, longest);
    const Handle set(H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose);
    check(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()));
}

void put_attribute(hid_t file, const char* name, hid_t type, const void* value) {
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle attribute(H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    check(H5Awrite(attribute, type, value));
}

/// A file with a number of records, and the place of the first record.
struct Image {
    std::vector<char> bytes;
    std::uint64_t data_at = 0;
};

Image image(const std::vector<Column>& columns, const Sampling& of, std::uint64_t records) {
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    constexpr std::size_t kGrow = 1U << 16;
    check(H5Pset_fapl_core(access, kGrow, false));
    // Without block allocation, the object created last lies last in the file.
    check(H5Pset_meta_block_size(access, 0));
    check(H5Pset_small_data_block_size(access, 0));
    const Handle file(H5Fcreate("waveforms", H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
    const Handle title(H5Tcopy(H5T_C_S1), H5Tclose);
    as_text(title, of.title.size());
    put_attribute(file, "title", title, of.title.c_str());
    put_attribute(file, "frequency_hz", H5T_IEEE_F64LE, &of.frequency_hz);
    put_attribute(file, "interval_s", H5T_IEEE_F64LE, &of.interval_s);
    std::vector<std::string> names{"time"}, units{"s"};
    for (const Column& c : columns) {
        names.push_back(c.name);
        units.push_back(c.unit);
    }
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    check(H5Pset_obj_track_times(creation, false));  // the same run makes the same file
    put_texts(file, creation, "names", names);
    put_texts(file, creation, "units", units);
    const std::array<hsize_t, 2> extent{records, names.size()};
    const Handle space(H5Screate_simple(2, extent.data(), nullptr), H5Sclose);
    check(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY));
    const Handle set(H5Dcreate2(file, "values", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose);
    check(H5Fflush(file, H5F_SCOPE_GLOBAL));
    const ssize_t size = H5Fget_file_image(file, nullptr, 0);
    if (size <= 0) check(-1);
    Image out{std::vector<char>(static_cast<std::size_t>(size)), records == 0 ? static_cast<std::uint64_t>(size) : H5Dget_offset(set)};
    if (H5Fget_file_image(file, out.bytes.data(), out.bytes.size()) != size) check(-1);
    if (out.data_at + records * extent[1] * sizeof(double) != out.bytes.size())
        throw std::runtime_error("this HDF5 library does not put values at the end of a file: write COMTRADE (FILE.cff)");
    return out;
}

std::string word(std::uint64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

/// A 64-bit number in the head: its value for no record, and its growth per record.
struct Growing {
    std::uint64_t at, base, slope;
};

/// Finds these numbers by comparing files of one and two records. Throws std::runtime_error if the heads differ
/// elsewhere.
std::vector<Growing> growing(const Image& one, const Image& two, std::uint64_t record_bytes) {
    std::vector<Growing> out;
    const std::array<Growing, 3> kinds{{{0, 0, 1}, {0, 0, record_bytes}, {0, one.data_at, record_bytes}}};  // extent; bytes of the data set; end of the file
    for (std::uint64_t at = 0; at < one.data_at; ++at) {
        if (one.bytes[at] == two.bytes[at]) continue;
        const auto is = [&](const Image& in, std::uint64_t from, std::uint64_t value) {
            return from + sizeof value <= in.data_at && std::memcmp(&in.bytes[from], &value, sizeof value) == 0;
        };
        bool found = false;
        for (std::uint64_t back = 0; back < sizeof at && back <= at && !found; ++back)
            for (const Growing& kind : kinds)
                if (!found && is(one, at - back, kind.base + kind.slope) && is(two, at - back, kind.base + 2 * kind.slope)) {
                    out.push_back({at - back, kind.base, kind.slope});
                    at += sizeof at - 1 - back;
                    found = true;
                }
        if (!found) throw std::runtime_error("this HDF5 library stores the number of records in an unknown way: write COMTRADE (FILE.cff)");
    }
    return out;
}

}  // namespace

RecordLayout hdf5_layout(const std::vector<Column>& columns, const Sampling& of) {
    RecordLayout out;
    out.stamp_bytes = out.value_bytes = sizeof(double);
    const std::uint64_t record_bytes = out.record_bytes(columns.size());
    const Image none = image(columns, of, 0), one = image(columns, of, 1), two = image(columns, of, 2);
    if (none.data_at != one.data_at || one.data_at != two.data_at)
        throw std::runtime_error("in this HDF5 library, the place of values depends on their number: write COMTRADE (FILE.cff)");
    out.head.assign(none.bytes.data(), none.data_at);
    out.data_at = one.data_at;
    out.stamp = [of](std::uint64_t record) { return word(std::bit_cast<std::uint64_t>(static_cast<double>(of.first + record) * of.interval_s)); };
    // The end of the file stands at its beginning. The other fields, and the mark that an empty data set has no place
    // yet, are close together in the header of the data set. That header is written at once and last, so a concurrent
    // reader never sees more records than exist.
    const std::vector<Growing> fields = growing(one, two, record_bytes);
    const std::uint64_t end = fields.at(0).at, behind = end + sizeof end;
    std::uint64_t from = out.data_at, to = behind;
    for (std::uint64_t at = behind; at < out.data_at; ++at)
        if (none.bytes[at] != one.bytes[at] || one.bytes[at] != two.bytes[at]) from = std::min(from, at), to = at + 1;
    out.amend = [=, none = out.head, one = std::string(one.bytes.data(), one.data_at)](std::uint64_t records) {
        std::string head = records == 0 ? none : one;
        if (records > 0)
            for (const Growing& field : fields) head.replace(field.at, sizeof field.at, word(field.base + records * field.slope));
        return std::vector<Amendment>{{end, head.substr(end, sizeof end)}, {from, head.substr(from, to - from)}};
    };
    return out;
}
#else
RecordLayout hdf5_layout(const std::vector<Column>&, const Sampling&) {
    throw std::runtime_error("this program is built without HDF5: write COMTRADE (FILE.cff), or build it with the HDF5 library");
}
#endif

}  // namespace emt
