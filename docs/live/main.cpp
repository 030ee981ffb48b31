// What the pages of the lessons compute, for a request on each line of the input.

#include <iostream>
#include <string>

#include "live.h"

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(line.c_str()) << '\n';
}
