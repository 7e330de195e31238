#include "server/fleet/redis_protocol.hpp"

#include <hiredis/hiredis.h>

#include <new>

namespace sm::fleet {

namespace {

RedisReply copy(const redisReply& reply) {
    RedisReply out;
    switch (reply.type) {
        case REDIS_REPLY_INTEGER:
            out.kind = RedisReply::Kind::kInteger;
            out.integer = reply.integer;
            break;
        case REDIS_REPLY_STRING:
        case REDIS_REPLY_STATUS:
        case REDIS_REPLY_ERROR:
            out.kind = reply.type == REDIS_REPLY_ERROR ? RedisReply::Kind::kError : RedisReply::Kind::kText;
            out.text.assign(reply.str, static_cast<std::size_t>(reply.len));
            break;
        case REDIS_REPLY_ARRAY:
            out.kind = RedisReply::Kind::kList;
            out.list.reserve(reply.elements);
            for (std::size_t i = 0; i < reply.elements; ++i) out.list.push_back(copy(*reply.element[i]));
            break;
        default:
            out.kind = RedisReply::Kind::kNil;
            break;
    }
    return out;
}

}  // namespace

void append_command(std::string& out, const RedisCommand& command) {
    std::vector<const char*> arguments;
    std::vector<std::size_t> lengths;
    for (const std::string& argument : command) {
        arguments.push_back(argument.data());
        lengths.push_back(argument.size());
    }
    char* text = nullptr;
    const auto size = redisFormatCommandArgv(&text, static_cast<int>(command.size()), arguments.data(), lengths.data());
    if (size < 0) throw std::bad_alloc();
    out.append(text, static_cast<std::size_t>(size));
    redisFreeCommand(text);
}

RedisParser::RedisParser() : reader_(redisReaderCreate()) {
    if (reader_ == nullptr) throw std::bad_alloc();
}

RedisParser::~RedisParser() {
    redisReaderFree(reader_);
}

void RedisParser::feed(std::string_view bytes) {
    if (redisReaderFeed(reader_, bytes.data(), bytes.size()) != REDIS_OK) broken_ = true;
}

std::optional<RedisReply> RedisParser::next() {
    if (broken_) return std::nullopt;
    void* raw = nullptr;
    if (redisReaderGetReply(reader_, &raw) != REDIS_OK) {
        broken_ = true;
        return std::nullopt;
    }
    if (raw == nullptr) return std::nullopt;
    RedisReply reply = copy(*static_cast<redisReply*>(raw));
    freeReplyObject(raw);
    return reply;
}

}  // namespace sm::fleet
