#include "tapegrad/io/named_options.h"

#include "support/options.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

/// The options that a text sets.
struct Options {
  double rate = 0.5, scale = 2;
  Index count = 3;
  bool flag = false;
  char word = 'a';

  explicit Options(std::string_view text) {
    set_options("test", text,
                {{"rate", number_option(rate)},
                 {"scale", not_negative_option(scale)},
                 {"count", count_option(count)},
                 {"flag", flag_option(flag)},
                 {"word", choice_option(word, {{"first", 'a'}, {"second", 'b'}})}});
  }
};

}  // namespace

TEST_CASE("a text sets the options that it names", "[io][options]") {
  const Options none("name"), all("name:rate=-1e-3,scale=0,count=1000000,flag=1,word=second");
  CHECK((none.rate == 0.5 && none.scale == 2 && none.count == 3 && !none.flag && none.word == 'a'));
  CHECK(
      (all.rate == -1e-3 && all.scale == 0 && all.count == 1000000 && all.flag && all.word == 'b'));
}

TEST_CASE("a text with options that do not fit is refused", "[io][options]") {
  const auto text = [](std::string value) { return [value] { Options{value}; }; };
  const std::string known = "; available: count, flag, rate, scale, word",
                    empty =
                        "test: name: an option is empty; leave out the colon or comma before it",
                    number = " must be a finite number", size = number + " of at least 0",
                    count = " must be a whole number from 1 to a million";
  check({
      {text("name:"), empty},
      {text("name:rate=1,"), empty},
      {text("name:,rate=1"), empty},
      {text("name:color=red"), "test: name has no option color=red" + known},
      {text("name:rate"), "test: name has no option rate" + known},
      {text("name:=1"), "test: name has no option =1" + known},
      {text("name:Rate=1"), "test: name has no option Rate=1" + known},
      {text("name:rate=1,flag=0,rate=1"), "test: name: rate is given twice"},
      {text("name:rate="), "test: name: rate=" + number},
      {text("name:rate=inf"), "test: name: rate=inf" + number},
      {text("name:rate=nan"), "test: name: rate=nan" + number},
      {text("name:rate=1e999"), "test: name: rate=1e999" + number},
      {text("name:rate=1x"), "test: name: rate=1x" + number},
      {text("name:rate= 1"), "test: name: rate= 1" + number},
      {text("name:rate=1=2"), "test: name: rate=1=2" + number},
      {text("name:scale=-1e-9"), "test: name: scale=-1e-9" + size},
      {text("name:count=0"), "test: name: count=0" + count},
      {text("name:count=1.5"), "test: name: count=1.5" + count},
      {text("name:count=1000001"), "test: name: count=1000001" + count},
      {text("name:flag=2"), "test: name: flag=2 must be 0 or 1"},
      {text("name:word="), "test: name: word= must be first or second"},
  });
}
