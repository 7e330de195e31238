#include "server/admin/log_levels.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "server/admin/json_fields.hpp"
#include "server/upstream/json_text.hpp"

namespace sm::admin {

using upstream::JsonText;

Response log_levels(const log::Log& log) {
    std::string out;
    JsonText json(out);
    json.word("level", log::to_string(log.level()));
    json.name("rooms");
    JsonText rooms(out);
    for (const auto& [room, level] : log.levels()) rooms.word(room, log::to_string(level));
    rooms.close();
    json.close();
    return json_response(std::move(out));
}

Response set_log_levels(log::Log& log, std::string_view body) {
    std::vector<FieldProblem> problems;
    const auto object = parse_object(body, problems);
    if (!object) return error_response(400, "bad_request", problems.front().message, problems);
    JsonFields fields(*object, "", problems);
    fields.only({"level", "rooms"});
    const auto read = [](JsonFields& from, std::string_view name) {
        std::optional<log::Level> level;
        if (const auto text = from.text(name); text && !(level = log::parse_level(*text))) {
            from.problem(name, "must be trace, debug, info, warn, error or off");
        }
        return level;
    };
    const auto general = read(fields, "level");
    std::vector<std::pair<std::string, log::Level>> rooms;
    const auto known = log.levels();
    if (const auto* inner = fields.inner("rooms")) {
        JsonFields names(*inner, "rooms.", problems);
        for (const auto& member : *inner) {
            const std::string room(member.key().data(), member.key().size());
            if (std::none_of(known.begin(), known.end(), [&room](const auto& entry) { return entry.first == room; })) {
                names.problem(room, "is not a room of the log");
            } else if (const auto level = read(names, room)) {
                rooms.emplace_back(room, *level);
            }
        }
    }
    if (!problems.empty())
        return error_response(400, "bad_request", problems.front().field + " " + problems.front().message, problems);
    if (general) log.set_level(*general);
    for (const auto& [room, level] : rooms) log.set_level(room, level);
    return log_levels(log);
}

}  // namespace sm::admin
