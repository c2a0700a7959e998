#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/answer_format.h"
#include "api/choice.h"
#include "api/context.h"
#include "api/generation_job.h"

namespace weir {

/// One API request from its submission to its last byte: choices, usage, frames, aborts. IO thread
/// only. Keeps itself alive through the engine's handler; ends with the last choice, an error, or
/// the client's hang-up.
class Generation : public std::enable_shared_from_this<Generation> {
 public:
    using MakeFormat = std::unique_ptr<AnswerFormat> (*)(const GenerationJob&, const ApiOptions&,
                                                         const Tokenizer&);

    Generation(std::shared_ptr<ApiContext> context, Exchange exchange, GenerationJob job,
               MakeFormat make_format);
    ~Generation();

    /// Hands the choices to the engine; answers with an error if it refuses.
    void start();

 private:
    void on_output(const RequestOutput& output);
    void on_close();
    void send_delta(Choice& choice);
    void finish_if_done();
    void finish_stream();
    void finish_whole();
    void fail_all(const Error& error);
    void abort_rest();
    void summarise();
    void arm_keep_alive();

    bool all_finished() const { return num_finished_ == choices_.size(); }
    Usage usage() const;
    std::string metrics_json() const;
    std::string timings_json() const;
    HttpHeaders extra_headers() const;
    int64_t elapsed_us() const;

    std::shared_ptr<ApiContext> context_;
    Exchange exchange_;
    GenerationJob job_;
    std::unique_ptr<AnswerFormat> format_;
    std::vector<Choice> choices_;
    RequestId first_id_ = 0;
    size_t num_finished_ = 0;
    bool done_ = false;
    std::string buffer_;  // Frames being written; reused.
    bool wrote_since_tick_ = false;
    std::shared_ptr<void> keep_alive_;
};

}  // namespace weir
