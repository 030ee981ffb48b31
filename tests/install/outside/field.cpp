#include <tapegrad/tapegrad.h>

struct Net {
  FIELD field;

  void visit(tapegrad::Fields& visitor) const { visitor("field", field); }
};

int main() { return static_cast<int>(tapegrad::fields(Net()).parameters().size()); }
