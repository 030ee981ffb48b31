#include "trainers/query_flag.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

void add_query_flag(Flags& flags, std::string& query, const std::string& description) {
  flags.setting("--query", query, description)
      ->needs("--resume")
      ->excludes("--save", "--log-dir", "--dry-run", "--profile", "--check-nan")
      ->check({[](const std::string& text) -> std::string {
                 return text.find_first_not_of(' ') == std::string::npos ? "the text is blank" : "";
               },
               ""});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
