#pragma once

// Test programs only: a tokenizer over single pieces, a chat template in few lines, an engine that
// plays a script, and a responder that records. Together they let the whole front end run without a
// model, a thread or a socket.

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/api_server.h"
#include "base/json.h"
#include "base/text.h"

namespace weir::fakes {

/// Ids 0 to 255 are bytes; 256 is EOS (a control token, "<|end|>"); then come the pieces given.
/// Text is encoded byte by byte, "<|end|>" in trusted text to 256.
class PieceTokenizer final : public Tokenizer {
 public:
    static constexpr TokenId kEos = 256;
    static constexpr TokenId kFirstPiece = 257;

    explicit PieceTokenizer(std::vector<std::string> pieces = {}) {
        for (int byte = 0; byte < 256; ++byte) tokens_.emplace_back(1, static_cast<char>(byte));
        tokens_.emplace_back("<|end|>");
        for (std::string& piece : pieces) tokens_.push_back(std::move(piece));
    }

    std::vector<TokenId> encode(std::string_view text,
                                const EncodeOptions& options) const override {
        std::vector<TokenId> ids;
        while (!text.empty()) {
            if (options.parse_special && text.starts_with(tokens_[kEos])) {
                ids.push_back(kEos);
                text.remove_prefix(tokens_[kEos].size());
            } else {
                ids.push_back(static_cast<unsigned char>(text[0]));
                text.remove_prefix(1);
            }
        }
        return ids;
    }
    std::vector<TokenId> encode_segments(std::span<const TextSegment> segments,
                                         const EncodeOptions& options) const override {
        std::vector<TokenId> ids;
        for (const TextSegment& segment : segments) {
            EncodeOptions own = options;
            own.parse_special = options.parse_special && segment.trusted;
            for (const TokenId id : encode(segment.text, own)) ids.push_back(id);
        }
        return ids;
    }
    std::string decode(std::span<const TokenId> ids, bool skip_special) const override {
        std::string text;
        for (const TokenId id : ids) {
            if (!(skip_special && id == kEos)) text += tokens_[static_cast<size_t>(id)];
        }
        return text;
    }
    std::string_view token_bytes(TokenId id) const override {
        return tokens_[static_cast<size_t>(id)];
    }
    std::string_view token_string(TokenId id) const override { return token_bytes(id); }
    int32_t vocab_size() const override { return static_cast<int32_t>(tokens_.size()); }
    bool is_special(TokenId id) const override { return id == kEos; }
    TokenId bos() const override { return kNoToken; }
    TokenId eos() const override { return kEos; }
    TokenId find(std::string_view token) const override {
        const auto place = std::ranges::find(tokens_, token);
        return place == tokens_.end() ? kNoToken : static_cast<TokenId>(place - tokens_.begin());
    }

 private:
    std::vector<std::string> tokens_;
};

/// "[role]content" for each message, "[assistant]" at the end if a generation prompt is wanted.
class LineTemplate final : public ChatTemplate {
 public:
    Result<std::vector<TextSegment>> render(const ChatRenderInput& input) const override {
        last = input;
        if (!fail_with.empty()) return fail(ErrorCode::kBadTemplate, fail_with);
        std::vector<TextSegment> out;
        for (const Json& message : input.messages.items()) {
            out.push_back({"[" + message["role"].as_string() + "]", true});
            const Json& content = message["content"];
            std::string text = content.is_string() ? content.as_string() : content.dump();
            out.push_back({std::move(text), false});
        }
        if (input.add_generation_prompt) out.push_back({"[assistant]", true});
        return out;
    }
    bool wants_content_parts() const override { return wants_parts; }
    bool mentions(std::string_view word) const override { return word == mentioned; }

    bool wants_parts = false;
    std::string mentioned;
    std::string fail_with;
    mutable ChatRenderInput last;
};

/// Plays `script`, one token a deliver() for each request: the same for all, unless `scripts` has
/// an entry for the request's place in the order of submission. EOS, stop ids and max_tokens end it
/// as in the core.
class ScriptedEngine final : public EngineClient {
 public:
    std::vector<TokenId> script;
    std::map<size_t, std::vector<TokenId>> scripts;
    int32_t fail_after = -1;  // An executor failure instead of this token.
    bool full = false;
    bool alive = true;
    std::vector<NewRequest> seen;
    std::vector<std::pair<RequestId, bool>> aborted;
    PauseState state = PauseState::kRunning;
    int num_resets = 0;
    int32_t cached_tokens = 0;

    RequestId next_id() override { return ++last_id_; }
    Result<void> check_admission(int64_t) override {
        if (!alive) return fail(ErrorCode::kInternal, "the engine has died");
        if (full) return fail(ErrorCode::kQueueFull, "the queue is full");
        return {};
    }
    Result<void> submit(std::vector<NewRequest> requests, const RequestFacts&,
                        OutputHandler handler) override {
        TRY_VOID(check_admission(static_cast<int64_t>(requests.size())));
        for (NewRequest& request : requests) {
            Running running{request, handler, 0, script};
            const auto own = scripts.find(seen.size());
            if (own != scripts.end()) running.tokens = own->second;
            running_.push_back(std::move(running));
            seen.push_back(std::move(request));
        }
        return {};
    }
    void abort(RequestId id, bool stopped_by_string) override {
        aborted.emplace_back(id, stopped_by_string);
        std::erase_if(running_, [&](const Running& one) { return one.request.id == id; });
    }
    void deliver() override {
        std::vector<RequestId> ids;
        for (const Running& one : running_) ids.push_back(one.request.id);
        for (const RequestId id : ids) {
            const auto place = std::ranges::find_if(
                running_, [&](const Running& one) { return one.request.id == id; });
            if (place == running_.end()) continue;
            const RequestOutput output = next_output(*place);
            const OutputHandler handler = place->handler;
            if (output.finish_reason != FinishReason::kNone) running_.erase(place);
            handler(output);
        }
    }
    int64_t num_unfinished() const override { return static_cast<int64_t>(running_.size()); }
    bool healthy() const override { return alive; }
    std::string fatal_error() const override { return "scripted"; }
    bool reset_prefix_cache(bool) override { return ++num_resets > 0; }
    void set_pause(PauseState to) override { state = to; }
    PauseState pause() const override { return state; }
    int64_t abort_requests(const std::vector<RequestId>& ids) override {
        int64_t count = 0;
        for (Running& one : running_) {
            if (!ids.empty() && std::ranges::find(ids, one.request.id) == ids.end()) continue;
            one.cancelled = true;
            ++count;
        }
        return count;
    }

 private:
    struct Running {
        NewRequest request;
        OutputHandler handler;
        int32_t count = 0;
        std::vector<TokenId> tokens;
        bool cancelled = false;
    };

    RequestOutput next_output(Running& one) const {
        RequestOutput output;
        output.id = one.request.id;
        output.queued_us = 1;
        output.scheduled_us = 2;
        output.token_us = 3 + one.count;
        output.num_cached_tokens = cached_tokens;
        const SamplingParams& params = one.request.params;
        if (one.cancelled || one.count == fail_after) {
            output.finish_reason = one.cancelled ? FinishReason::kAbort : FinishReason::kError;
            return output;
        }
        const auto place = static_cast<size_t>(one.count++);
        output.token = one.tokens.empty() ? 'x' : one.tokens[place % one.tokens.size()];
        if (params.logprobs) output.logprobs = fake_logprobs(output.token);
        if (place == 0 && params.prompt_logprobs) add_prompt_logprobs(one.request, output);
        if (output.token == one.request.eos_token_id && !params.ignore_eos) {
            output.finish_reason = FinishReason::kStop;
        } else if (std::ranges::find(params.stop_token_ids, output.token) !=
                   params.stop_token_ids.end()) {
            output.finish_reason = FinishReason::kStop;
            output.stop_token_id = output.token;
        } else if (one.count >= params.max_tokens) {
            output.finish_reason = FinishReason::kLength;
        }
        return output;
    }
    /// The token, then 'A', the token again, and 'B'.
    static std::vector<TokenLogprob> fake_logprobs(TokenId token) {
        return {{token, -0.5F, 2}, {'A', -0.25F, 1}, {token, -0.5F, 2}, {'B', -2.0F, 3}};
    }
    static void add_prompt_logprobs(const NewRequest& request, RequestOutput& output) {
        for (size_t i = 1; i < request.token_ids.size(); ++i) {
            output.prompt_logprobs.push_back(
                {static_cast<int32_t>(i), fake_logprobs(request.token_ids[i])});
        }
    }

    RequestId last_id_ = 0;
    std::vector<Running> running_;
};

/// What a client would have read.
class RecordingResponder final : public HttpResponder {
 public:
    int status = 0;
    HttpHeaders headers;
    std::string body;  // Also of streams, chunks joined.
    std::vector<std::string> chunks;
    bool streaming = false;
    bool ended = false;

    void send(HttpResponse response) override {
        status = response.status;
        headers = std::move(response.headers);
        body = std::move(response.body);
        ended = true;
    }
    void begin_stream(int code, HttpHeaders more) override {
        status = code;
        headers = std::move(more);
        streaming = true;
    }
    void write(std::string_view chunk) override {
        body += chunk;
        chunks.emplace_back(chunk);
    }
    void end_stream() override { ended = true; }
    void on_close(std::function<void()> callback) override { on_close_ = std::move(callback); }
    bool closed() const override { return closed_; }

    void hang_up() {
        closed_ = true;
        if (auto callback = std::exchange(on_close_, nullptr)) callback();
    }
    std::string header(std::string_view name) const {
        for (const auto& [key, value] : headers) {
            if (equals_ignore_case(key, name)) return value;
        }
        return "";
    }
    Json json() const {
        auto parsed = parse_json(body);
        return parsed ? std::move(*parsed) : Json();
    }
    /// The JSON of all events; "[DONE]" as a string.
    std::vector<Json> events() const {
        std::vector<Json> out;
        std::string_view rest = body;
        while (!rest.empty()) {
            const size_t end = rest.find("\n\n");
            std::string_view frame = rest.substr(0, end);
            rest.remove_prefix(std::min(rest.size(), end + 2));
            if (!frame.starts_with("data: ")) continue;
            frame.remove_prefix(6);
            auto parsed = parse_json(frame);
            out.push_back(parsed ? std::move(*parsed) : Json(frame));
        }
        return out;
    }

 private:
    std::function<void()> on_close_;
    bool closed_ = false;
};

/// The front end with fakes around it; everything runs in the calling thread.
class FrontEnd {
 public:
    explicit FrontEnd(std::vector<std::string> pieces = {}, ApiOptions options = {})
        : tokenizer(std::move(pieces)) {
        options.served_model_names = {"m"};
        options.eos_token_id = PieceTokenizer::kEos;
        ApiParts parts;
        parts.engine = &engine;
        parts.tokenizer = &tokenizer;
        parts.chat_template = &chat_template;
        parts.offload = [this](std::function<void()> work) {
            if (!pool_open) return false;
            if (hold_pool) {
                held.push_back(std::move(work));
            } else {
                work();
            }
            return true;
        };
        parts.post = [](const std::function<void()>& work) { work(); };
        parts.after = [this](std::chrono::milliseconds, std::function<void()> work) {
            timers.push_back(std::make_shared<std::function<void()>>(std::move(work)));
            return std::static_pointer_cast<void>(timers.back());
        };
        parts.metrics = [] { return std::string("metric 1\n"); };
        parts.load = [] { return EngineLoad{0.25, 3}; };
        parts.observe_http = [this](const HttpObservation& one) { observed.push_back(one); };
        parts.observe_request = [this](const RequestSummary& one) {
            reasons.emplace_back(one.reason);
            completion_tokens = one.completion_tokens;
        };
        parts.server_info = [](bool) { return std::string("{}"); };
        parts.chat_page = "<html>page</html>";
        server = std::make_unique<ApiServer>(std::move(options), std::move(parts));
    }

    using Answer = std::shared_ptr<RecordingResponder>;
    Answer send(HttpRequest request) {
        auto responder = std::make_shared<RecordingResponder>();
        server->handle(std::move(request), responder);
        return responder;
    }
    static HttpRequest make(std::string method, std::string path, std::string body = "",
                            HttpHeaders headers = {}) {
        HttpRequest request;
        request.method = std::move(method);
        const size_t mark = path.find('?');
        request.target = path;
        request.path = path.substr(0, mark);
        if (mark != std::string::npos) request.query = path.substr(mark + 1);
        request.body = std::move(body);
        request.headers = std::move(headers);
        return request;
    }
    Answer get(std::string path) { return send(make("GET", std::move(path))); }
    Answer post(std::string path, std::string body) {
        return send(
            make("POST", std::move(path), std::move(body), {{"Content-Type", "application/json"}}));
    }
    /// Delivers until the answer is complete.
    Answer finish(Answer answer) {
        for (int i = 0; i < 100'000 && !answer->ended; ++i) engine.deliver();
        return answer;
    }
    Answer complete(std::string body) { return finish(post("/v1/completions", std::move(body))); }
    Answer chat(std::string body) { return finish(post("/v1/chat/completions", std::move(body))); }

    PieceTokenizer tokenizer;
    LineTemplate chat_template;
    ScriptedEngine engine;
    bool pool_open = true;
    bool hold_pool = false;
    std::deque<std::function<void()>> held;
    std::vector<std::shared_ptr<std::function<void()>>> timers;
    std::vector<HttpObservation> observed;
    std::vector<std::string> reasons;
    int64_t completion_tokens = 0;
    std::unique_ptr<ApiServer> server;
};

}  // namespace weir::fakes
