#include "support/grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

// The grammar, with number n (singular or plural) in step between a subject and its verb:
//
//   sentence -> subject(n) predicate(n) "."
//   subject(n) -> determiner noun(n) | determiner noun(n) "that" clause(n)
//   clause(n) -> subject(m) transitive(m) | transitive(n) object
//   predicate(n) -> intransitive(n) | transitive(n) object
//   object -> determiner noun

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

struct Word {
  std::array<std::string_view, 2> forms;  // singular, plural
};
constexpr std::array<Word, 8> nouns{{{{"cat", "cats"}},
                                     {{"dog", "dogs"}},
                                     {{"bird", "birds"}},
                                     {{"fox", "foxes"}},
                                     {{"king", "kings"}},
                                     {{"queen", "queens"}},
                                     {{"judge", "judges"}},
                                     {{"child", "children"}}}};
constexpr std::array<Word, 6> transitives{{{{"sees", "see"}},
                                           {{"hears", "hear"}},
                                           {{"follows", "follow"}},
                                           {{"likes", "like"}},
                                           {{"fears", "fear"}},
                                           {{"knows", "know"}}}};
constexpr std::array<Word, 5> intransitives{{{{"runs", "run"}},
                                             {{"sleeps", "sleep"}},
                                             {{"sings", "sing"}},
                                             {{"waits", "wait"}},
                                             {{"jumps", "jump"}}}};
constexpr std::array<std::string_view, 2> determiners{"the", "my"};
constexpr int deepest = 3;

// Tags of both numbers, as in the treebanks of English.
struct Tags {
  std::string_view universal;
  std::array<std::string_view, 2> forms;  // singular, plural
};
constexpr Tags noun_tags{"NOUN", {"NN", "NNS"}}, verb_tags{"VERB", {"VBZ", "VBP"}};

// Writes a sentence and its tree. Words go by their positions, from 1 on.
class Writer {
 public:
  explicit Writer(Random& random) : random_(random) {}

  DependencyTree sentence() {
    words_.clear();
    const std::size_t n = number();
    const Index who = subject(n, 0);
    Index verb = 0;
    if (random_.uniform() < 0.5) {
      verb = word(intransitives, n, verb_tags);
    } else {
      verb = word(transitives, n, verb_tags);
      attach(object(), verb, "obj");
    }
    attach(who, verb, "nsubj");
    attach(verb, 0, "root");
    attach(add(".", "PUNCT", "."), verb, "punct");
    return words_;
  }

 private:
  std::size_t number() { return random_.below(2); }
  Index add(std::string_view form, std::string_view upos, std::string_view xpos) {
    words_.push_back(
        {.form = std::string(form), .upos = std::string(upos), .xpos = std::string(xpos)});
    return std::ssize(words_);
  }
  void attach(Index word, Index head, const char* relation) {
    DependencyWord& dependent = words_[word - 1];
    dependent.head = head;
    dependent.relation = relation;
  }
  template <std::size_t count>
  Index word(const std::array<Word, count>& words, std::size_t n, const Tags& tags) {
    const Word& chosen = words[random_.below(count)];
    return add(chosen.forms[n], tags.universal, tags.forms[n]);
  }
  Index determiner() {
    return random_.below(2) == 0 ? add(determiners[0], "DET", "DT")
                                 : add(determiners[1], "PRON", "PRP$");
  }
  // The noun behind a determiner.
  Index noun(Index determiner, std::size_t n) {
    const Index result = word(nouns, n, noun_tags);
    attach(determiner, result, words_.end()[-2].xpos == "DT" ? "det" : "nmod:poss");
    return result;
  }
  Index object() {
    const Index first = determiner();
    return noun(first, number());
  }
  Index subject(std::size_t n, int depth) {
    const Index who = noun(determiner(), n);
    if (depth == deepest || random_.uniform() > 0.35) return who;
    const Index that = add("that", "PRON", "WDT");
    Index verb = 0;
    if (random_.uniform() < 0.5) {
      const std::size_t m = number();
      const Index inner = subject(m, depth + 1);
      verb = word(transitives, m, verb_tags);
      attach(inner, verb, "nsubj");
      attach(that, verb, "obj");
    } else {
      verb = word(transitives, n, verb_tags);
      attach(object(), verb, "obj");
      attach(that, verb, "nsubj");
    }
    attach(verb, who, "acl:relcl");
    return who;
  }

  Random& random_;
  DependencyTree words_;
};

// The number of a word among `words`, or none if it is not one of them.
template <std::size_t count>
std::optional<int> number_of(const std::array<Word, count>& words, std::string_view word) {
  for (const Word& each : words)
    for (const int n : {0, 1})
      if (each.forms[n] == word) return n;
  return std::nullopt;
}

// Parses one sentence by the rules of the grammar.
class Reader {
 public:
  explicit Reader(std::string_view sentence) {
    while (!sentence.empty()) {
      const std::size_t end = std::min(sentence.find(' '), sentence.size());
      if (end > 0) words_.push_back(sentence.substr(0, end));
      sentence.remove_prefix(std::min(end + 1, sentence.size()));
    }
  }

  /// Adds the sentence to the score, if it belongs to the language.
  void add_to(GrammarScore& score) {
    const std::optional<Subject> s = subject();
    if (!s || !predicate(*s) || at_ != words_.size()) return;
    ++score.grammatical;
    score.verbs += found_.verbs;
    score.agreeing += found_.agreeing;
    score.far_verbs += found_.far_verbs;
    score.far_agreeing += found_.far_agreeing;
  }

 private:
  struct Subject {
    int number;
    bool far;  // something stands between it and its verb
  };

  std::string_view next() { return at_ < words_.size() ? words_[at_] : std::string_view(); }
  bool take(std::string_view word) {
    const bool here = next() == word;
    at_ += here ? 1 : 0;
    return here;
  }
  void verb(int number, const Subject& subject) {
    const bool agrees = number == subject.number;
    ++found_.verbs;
    found_.agreeing += agrees ? 1 : 0;
    found_.far_verbs += subject.far ? 1 : 0;
    found_.far_agreeing += subject.far && agrees ? 1 : 0;
  }
  std::optional<int> noun() {
    if (!take(determiners[0]) && !take(determiners[1])) return std::nullopt;
    const std::optional<int> n = number_of(nouns, next());
    ++at_;
    return n;
  }
  bool transitive(const Subject& of) {
    const std::optional<int> n = number_of(transitives, next());
    if (!n) return false;
    ++at_;
    verb(*n, of);
    return true;
  }
  std::optional<Subject> subject() {
    const std::optional<int> n = noun();
    if (!n) return std::nullopt;
    if (!take("that")) return Subject{*n, false};
    if (transitive({*n, false})) return noun() ? std::optional(Subject{*n, true}) : std::nullopt;
    const std::optional<Subject> inner = subject();
    if (!inner || !transitive(*inner)) return std::nullopt;
    return Subject{*n, true};
  }
  bool predicate(const Subject& of) {
    if (const std::optional<int> n = number_of(intransitives, next())) {
      ++at_;
      verb(*n, of);
      return true;
    }
    return transitive(of) && noun().has_value();
  }

  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
  GrammarScore found_;
};

double percent(Index part, Index whole) { return whole == 0 ? 0 : 100.0 * part / whole; }

}  // namespace

std::string grammar_text(Index sentences, Random& random) {
  std::string text;
  for (const DependencyTree& tree : grammar_trees(sentences, random)) {
    std::string sentence;
    for (const DependencyWord& word : tree) {
      if (!sentence.empty() && word.upos != "PUNCT") sentence += ' ';
      sentence += word.form;
    }
    (text += sentence) += '\n';
  }
  return text;
}

std::vector<DependencyTree> grammar_trees(Index sentences, Random& random) {
  Writer writer(random);
  std::vector<DependencyTree> trees;
  for (Index i = 0; i < sentences; ++i) trees.push_back(writer.sentence());
  return trees;
}

std::string other_form_of_verb(std::string_view word) {
  const auto other = [&](const auto& words) -> std::string {
    for (const Word& each : words)
      for (const std::size_t n : {0, 1})
        if (each.forms[n] == word) return std::string(each.forms[1 - n]);
    return "";
  };
  const std::string transitive = other(transitives);
  return transitive.empty() ? other(intransitives) : transitive;
}

GrammarScore score_grammar(std::string_view text) {
  GrammarScore score;
  std::size_t begin = text.find(".\n");
  for (std::size_t end; begin != std::string_view::npos; begin = end) {
    begin += 2;
    end = text.find(".\n", begin);
    if (end == std::string_view::npos) break;
    ++score.sentences;
    Reader(text.substr(begin, end - begin)).add_to(score);
  }
  return score;
}

std::string to_string(const GrammarScore& s) {
  return fmt::format(
      "{:.1f} % of {} sentences are grammatical; in these {:.1f} % of {} verbs agree with their "
      "subject, and {:.1f} % of {} behind a clause",
      percent(s.grammatical, s.sentences), s.sentences, percent(s.agreeing, s.verbs), s.verbs,
      percent(s.far_agreeing, s.far_verbs), s.far_verbs);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
