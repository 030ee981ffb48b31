#include "problems/paper_tasks.h"

#include "problems/captions.h"
#include "problems/digits.h"
#include "problems/draw.h"
#include "problems/handwriting.h"
#include "problems/parsing.h"
#include "problems/sentences.h"
#include "problems/skip_thoughts.h"
#include "problems/stories.h"
#include "problems/text.h"
#include "problems/translation.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {
namespace {

Problem make_problem(const std::string& task, const Origin& origin, Size size) {
  if (task.starts_with("enwik8")) return text_problem(origin, size, task == "enwik8_short");
  if (task == "mnist") return conv_problem(origin, size);
  if (task == "mnist_128") return perceptron_problem(128, origin, size);
  if (task == "mnist_4") return perceptron_problem(4, origin, size);
  if (task == "ud_ewt") return parser_problem(origin, size);
  if (task == "rt_splits") return split_problem(origin, size);
  if (task == "rt" || task == "sst5") return sentence_problem(task, origin, size);
  if (task == "en_de" || task == "de_en") return translation_problem(task, origin, size);
  if (task == "retrieval") return retrieval_problem(origin, size);
  if (task == "reader") return reader_problem(origin, size);
  if (task == "skip_thoughts") return skip_thoughts_problem(origin, size);
  if (task == "draw") return draw_problem(origin, size);
  return handwriting_problem(task, origin, size);
}

}  // namespace

std::vector<lab::MatrixTask> make_tasks(const lab::Paper& paper,
                                        const std::vector<std::string>& names, const Origin& origin,
                                        Size size) {
  std::vector<lab::MatrixTask> tasks;
  for (const std::string& name : names)
    tasks.push_back(task_of(paper.task(name), make_problem(name, origin, size)));
  return tasks;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
