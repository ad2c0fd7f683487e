#include "commands/scale_plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace emt {
namespace {

using nlohmann::json;

constexpr double kWidth = 340, kHeight = 220, kLeft = 60, kTop = 40, kGap = 80;

std::string text(double x, double y, const char* anchor, const std::string& s, int size = 11) {
    std::string escaped;
    for (const char c : s) escaped += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    char head[120];
    std::snprintf(head, sizeof head, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">", x, y, anchor, size);
    return head + escaped + "</text>\n";
}

std::string number(double v) {
    char out[24];
    std::snprintf(out, sizeof out, "%.3g", v);
    return out;
}

/// Draws one panel with its axes; `ideal` adds the line ψ = p.
std::string panel(const json& points, const char* key, const char* title, int column, int row, bool ideal) {
    const double x0 = kLeft + column * (kWidth + kGap), y0 = kTop + row * (kHeight + kGap);
    std::vector<std::pair<double, double>> data;
    double top = 0, right = 1;
    for (const json& p : points) {
        right = std::max(right, p["ranks"].get<double>());
        if (p[key].is_number()) data.emplace_back(p["ranks"].get<double>(), p[key].get<double>());
    }
    for (const auto& [x, y] : data) top = std::max(top, y);
    if (ideal) top = std::max(top, right);
    if (top <= 0) top = 1;
    top *= 1.05;
    const auto px = [&](double x) { return x0 + kWidth * x / right; };
    const auto py = [&](double y) { return y0 + kHeight * (1 - std::max(y, 0.0) / top); };
    char buffer[200];
    std::snprintf(buffer, sizeof buffer, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"#888\"/>\n", x0, y0, kWidth, kHeight);
    std::string out = buffer + text(x0 + kWidth / 2, y0 - 10, "middle", title, 13) + text(x0 + kWidth / 2, y0 + kHeight + 32, "middle", "ranks p");
    for (int i = 0; i <= 4; ++i) {
        const double y = top * i / 4;
        out += text(x0 - 6, py(y) + 4, "end", number(y));
        std::snprintf(buffer, sizeof buffer, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", x0, py(y), x0 + kWidth, py(y));
        out += buffer;
    }
    if (ideal) {
        std::snprintf(buffer, sizeof buffer, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#aaa\" stroke-dasharray=\"4\"/>\n", px(0), py(0), px(right), py(right));
        out += buffer;
    }
    std::string path;
    for (const auto& [x, y] : data) {
        std::snprintf(buffer, sizeof buffer, "%.1f,%.1f ", px(x), py(y));
        path += buffer;
        std::snprintf(buffer, sizeof buffer, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#1f5fa8\"/>\n", px(x), py(y));
        out += buffer + text(px(x), y0 + kHeight + 15, "middle", number(x));
    }
    return out + "<polyline fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"1.5\" points=\"" + path + "\"/>\n";
}

}  // namespace

std::string scaling_plot(const json& s) {
    const double width = kLeft + 2 * (kWidth + kGap), height = kTop + 2 * (kHeight + kGap) + 20;
    char head[200];
    std::snprintf(head, sizeof head, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", width, height);
    const json& points = s["points"];
    return head + panel(points, "speedup", "Speed-up ψ", 0, 0, true) + panel(points, "efficiency", "Efficiency η", 1, 0, false) +
           panel(points, "karp_flatt", "Karp–Flatt e", 0, 1, false) + panel(points, "kappa_block_p50_us", "Overhead κ′ (µs)", 1, 1, false) +
           text(kLeft, height - 8, "start",
                s["title"].get<std::string>() + ", exchange " + s["exchange"].get<std::string>() + ", transport " + s["transport"].get<std::string>()) +
           "</svg>\n";
}

}  // namespace emt
