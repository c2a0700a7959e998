#include "tokenizer/strftime.h"

#include <chrono>

#include "base/text.h"

namespace weir {
namespace {

constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

std::string padded(int64_t number, size_t width, char fill = '0') {
    std::string text = concat(number);
    if (text.size() < width) text.insert(0, width - text.size(), fill);
    return text;
}

/// A moment cut into what the directives show.
struct Parts {
    int64_t year;
    int64_t month, day, hour, minute, second;
    int64_t weekday;      // Sunday is 0.
    int64_t day_of_year;  // From 0.

    explicit Parts(int64_t unix_s) {
        const std::chrono::sys_seconds moment{std::chrono::seconds{unix_s}};
        const auto date = std::chrono::floor<std::chrono::days>(moment);
        const std::chrono::year_month_day calendar{date};
        year = static_cast<int>(calendar.year());
        month = static_cast<unsigned>(calendar.month());
        day = static_cast<unsigned>(calendar.day());
        const int64_t of_day = (moment - date).count();
        hour = of_day / 3600;
        minute = of_day / 60 % 60;
        second = of_day % 60;
        weekday = std::chrono::weekday{date}.c_encoding();
        const std::chrono::sys_days new_year{calendar.year() / std::chrono::January / 1};
        day_of_year = (date - new_year).count();
    }
    int64_t hour12() const { return (hour + 11) % 12 + 1; }
    int64_t monday_based() const { return (weekday + 6) % 7; }

    /// ISO 8601 week and the year it belongs to.
    std::pair<int64_t, int64_t> iso_week() const {
        const auto weeks_in = [](int64_t y) {
            const auto last_day = [](int64_t q) { return (q + q / 4 - q / 100 + q / 400) % 7; };
            return last_day(y) == 4 || last_day(y - 1) == 3 ? 53 : 52;
        };
        const int64_t week = (day_of_year - monday_based() + 10) / 7;
        if (week < 1) return {weeks_in(year - 1), year - 1};
        if (week > weeks_in(year)) return {1, year + 1};
        return {week, year};
    }
};

std::string directive(char c, const Parts& at, int64_t unix_s) {
    switch (c) {
        case 'Y': return padded(at.year, 4);
        case 'C': return padded(at.year / 100, 2);
        case 'y': return padded(at.year % 100, 2);
        case 'm': return padded(at.month, 2);
        case 'd': return padded(at.day, 2);
        case 'e': return padded(at.day, 2, ' ');
        case 'H': return padded(at.hour, 2);
        case 'k': return padded(at.hour, 2, ' ');
        case 'I': return padded(at.hour12(), 2);
        case 'l': return padded(at.hour12(), 2, ' ');
        case 'M': return padded(at.minute, 2);
        case 'S': return padded(at.second, 2);
        case 'f': return "000000";
        case 'p': return at.hour < 12 ? "AM" : "PM";
        case 'P': return at.hour < 12 ? "am" : "pm";
        case 'j': return padded(at.day_of_year + 1, 3);
        case 'w': return concat(at.weekday);
        case 'u': return concat(at.weekday == 0 ? 7 : at.weekday);
        case 'a': return std::string(kDays[at.weekday].substr(0, 3));
        case 'A': return std::string(kDays[at.weekday]);
        case 'b':
        case 'h': return std::string(kMonths[at.month - 1].substr(0, 3));
        case 'B': return std::string(kMonths[at.month - 1]);
        case 'U': return padded((at.day_of_year + 7 - at.weekday) / 7, 2);
        case 'W': return padded((at.day_of_year + 7 - at.monday_based()) / 7, 2);
        case 'V': return padded(at.iso_week().first, 2);
        case 'G': return padded(at.iso_week().second, 4);
        case 'g': return padded(at.iso_week().second % 100, 2);
        case 's': return concat(unix_s);
        case 'z':
        case 'Z': return "";  // A naive datetime has no zone.
        case 'n': return "\n";
        case 't': return "\t";
        case '%': return "%";
        case 'D':
        case 'x': return strftime_utc("%m/%d/%y", unix_s);
        case 'F': return strftime_utc("%Y-%m-%d", unix_s);
        case 'T':
        case 'X': return strftime_utc("%H:%M:%S", unix_s);
        case 'R': return strftime_utc("%H:%M", unix_s);
        case 'r': return strftime_utc("%I:%M:%S %p", unix_s);
        case 'c': return strftime_utc("%a %b %e %H:%M:%S %Y", unix_s);
        default: return {'%', c};
    }
}

}  // namespace

std::string strftime_utc(std::string_view format, int64_t unix_s) {
    const Parts at(unix_s);
    std::string out;
    for (size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%' || i + 1 == format.size()) {
            out += format[i];
            continue;
        }
        const bool unpadded = format[i + 1] == '-' && i + 2 < format.size();  // glibc's %-d.
        i += unpadded ? 2 : 1;
        std::string text = directive(format[i], at, unix_s);
        if (unpadded) {
            const size_t first = text.find_first_not_of("0 ");
            text = first == std::string::npos ? "0" : text.substr(first);
        }
        out += text;
    }
    return out;
}

}  // namespace weir
