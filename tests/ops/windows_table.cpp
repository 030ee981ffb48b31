#include "ops/table.h"
#include "tapegrad/ops/conv.h"

namespace tapegrad::testing {
namespace {

using In = const std::vector<Tensor>&;

}  // namespace

std::vector<Row> windows_rows() {
  return {
      {"conv2d", [](In x) { return conv2d(x[0], x[1]); }},
      {"conv2d_strided", [](In x) { return conv2d(x[0], x[1], {.stride = 2, .padding = 1}); }},
      {"max_pool2d", [](In x) { return max_pool2d(x[0]); }},
      {"max_pool2d_padded",
       [](In x) { return max_pool2d(x[0], {.size = 3, .stride = 2, .padding = 1}); }},
      {"avg_pool2d", [](In x) { return avg_pool2d(x[0], {.size = 3, .stride = 2, .padding = 1}); }},
      {"conv2d_dilated", [](In x) { return conv2d(x[0], x[1], {.padding = 1, .dilation = 2}); }},
      {"conv2d_grouped",
       [](In x) {
         return conv2d(x[0], x[1], {.stride = 2, .padding = 1, .dilation = 2, .groups = 2});
       }},
      {"conv2d_depthwise", [](In x) { return conv2d(x[0], x[1], {.groups = 3}); }},
      {"conv1d", [](In x) { return conv1d(x[0], x[1]); }},
      {"conv1d_grouped",
       [](In x) {
         return conv1d(x[0], x[1], {.stride = 2, .padding = 2, .dilation = 2, .groups = 2});
       }},
      {"conv_transpose2d", [](In x) { return conv_transpose2d(x[0], x[1]); }},
      {"conv_transpose2d_strided",
       [](In x) {
         return conv_transpose2d(x[0], x[1], {.stride = 2, .padding = 1, .output_padding = 1});
       }},
      {"conv_transpose2d_grouped",
       [](In x) {
         return conv_transpose2d(
             x[0], x[1],
             {.stride = 3, .padding = 1, .output_padding = 2, .dilation = 2, .groups = 2});
       }},
  };
}

}  // namespace tapegrad::testing
