#include "ops/table.h"
#include "tapegrad/nn/functions/conv.h"
#include "tapegrad/nn/functions/pool.h"

namespace tapegrad::testing {
namespace {

Function of(Tensor (*pool)(const Tensor&, PoolOptions, Place), const PoolOptions& options) {
  return [=](In x) { return pool(x[0], options, Place::here()); };
}

}  // namespace

std::vector<Row> windows_rows() {
  return {
      {"conv2d", "F.conv2d(a, b)", "any_(2, 2, 4, 5), any_(3, 2, 3, 2)",
       [](In x) { return conv2d(x[0], x[1]); }},
      {"conv2d_strided", "F.conv2d(a, b, stride=2, padding=1)",
       "any_(2, 2, 5, 4), any_(3, 2, 3, 2)",
       [](In x) { return conv2d(x[0], x[1], {.stride = 2, .padding = 1}); }},
      {"max_pool2d", "F.max_pool2d(a, 2)", "spread(2, 1, 4, 5)",
       [](In x) { return max_pool2d(x[0]); }},
      {"max_pool2d_padded", "F.max_pool2d(a, 3, 2, 1)", "spread(1, 2, 5, 4)",
       [](In x) { return max_pool2d(x[0], {.size = 3, .stride = 2, .padding = 1}); }},
      {"avg_pool2d", "F.avg_pool2d(a, 3, 2, 1)", "any_(2, 2, 5, 4)",
       [](In x) { return avg_pool2d(x[0], {.size = 3, .stride = 2, .padding = 1}); }},
      {"conv2d_dilated", "F.conv2d(a, b, padding=1, dilation=2)",
       "any_(2, 2, 5, 4), any_(3, 2, 3, 2)",
       [](In x) { return conv2d(x[0], x[1], {.padding = 1, .dilation = 2}); }},
      {"conv2d_grouped", "F.conv2d(a, b, stride=2, padding=1, dilation=2, groups=2)",
       "any_(5, 4, 5, 6), any_(6, 2, 2, 3)",
       [](In x) {
         return conv2d(x[0], x[1], {.stride = 2, .padding = 1, .dilation = 2, .groups = 2});
       }},
      {"conv2d_depthwise", "F.conv2d(a, b, groups=3)", "any_(2, 3, 4, 3), any_(6, 1, 2, 2)",
       [](In x) { return conv2d(x[0], x[1], {.groups = 3}); }},
      {"conv1d", "F.conv1d(a, b)", "any_(2, 2, 6), any_(3, 2, 3)",
       [](In x) { return conv1d(x[0], x[1]); }},
      {"conv1d_grouped", "F.conv1d(a, b, stride=2, padding=2, dilation=2, groups=2)",
       "any_(2, 4, 6), any_(2, 2, 3)",
       [](In x) {
         return conv1d(x[0], x[1], {.stride = 2, .padding = 2, .dilation = 2, .groups = 2});
       }},
      {"conv_transpose2d", "F.conv_transpose2d(a, b)", "any_(2, 3, 2, 3), any_(3, 2, 3, 2)",
       [](In x) { return conv_transpose2d(x[0], x[1]); }},
      {"conv_transpose2d_strided",
       "F.conv_transpose2d(a, b, stride=2, padding=1, output_padding=1)",
       "any_(2, 3, 3, 2), any_(3, 2, 3, 2)",
       [](In x) {
         return conv_transpose2d(x[0], x[1], {.stride = 2, .padding = 1, .output_padding = 1});
       }},
      {"conv_transpose2d_grouped",
       "F.conv_transpose2d(a, b, stride=3, padding=1, output_padding=2, dilation=2, groups=2)",
       "any_(2, 4, 2, 3), any_(4, 3, 2, 3)",
       [](In x) {
         return conv_transpose2d(
             x[0], x[1],
             {.stride = 3, .padding = 1, .output_padding = 2, .dilation = 2, .groups = 2});
       }},
      {"conv2d_extents", "F.conv2d(a, b, stride=(2, 1), padding=(0, 2), dilation=(1, 2))",
       "any_(2, 2, 6, 5), any_(3, 2, 3, 2)",
       [](In x) {
         return conv2d(x[0], x[1], {.stride = {2, 1}, .padding = {0, 2}, .dilation = {1, 2}});
       }},
      {"conv2d_extents_grouped",
       "F.conv2d(a, b, stride=(1, 3), padding=(2, 1), dilation=(2, 1), groups=2)",
       "any_(5, 4, 5, 7), any_(2, 2, 2, 3)",
       [](In x) {
         return conv2d(x[0], x[1],
                       {.stride = {1, 3}, .padding = {2, 1}, .dilation = {2, 1}, .groups = 2});
       }},
      {"conv_transpose2d_extents",
       "F.conv_transpose2d(a, b, stride=(3, 2), padding=(1, 0), output_padding=(2, 1), "
       "dilation=(1, 2))",
       "any_(2, 3, 2, 3), any_(3, 2, 3, 2)",
       [](In x) {
         return conv_transpose2d(
             x[0], x[1],
             {.stride = {3, 2}, .padding = {1, 0}, .output_padding = {2, 1}, .dilation = {1, 2}});
       }},
      {"max_pool2d_extents", "F.max_pool2d(a, (3, 2), (1, 2), (1, 0))", "spread(2, 2, 4, 6)",
       of(max_pool2d, {.size = {3, 2}, .stride = {1, 2}, .padding = {1, 0}})},
      {"max_pool2d_ceil", "F.max_pool2d(a, 3, 2, 1, ceil_mode=True)", "spread(1, 2, 6, 4)",
       of(max_pool2d, {.size = 3, .stride = 2, .padding = 1, .ceil_mode = true})},
      {"max_pool2d_ceil_beyond", "F.max_pool2d(a, (4, 3), (3, 2), ceil_mode=True)",
       "spread(2, 1, 3, 6)", of(max_pool2d, {.size = {4, 3}, .stride = {3, 2}, .ceil_mode = true})},
      {"avg_pool2d_extents", "F.avg_pool2d(a, (2, 3), (1, 2), (1, 0))", "any_(2, 2, 4, 6)",
       of(avg_pool2d, {.size = {2, 3}, .stride = {1, 2}, .padding = {1, 0}})},
      {"avg_pool2d_ceil", "F.avg_pool2d(a, 3, 2, 1, ceil_mode=True)", "any_(1, 2, 6, 4)",
       of(avg_pool2d, {.size = 3, .stride = 2, .padding = 1, .ceil_mode = true})},
      {"avg_pool2d_excluded", "F.avg_pool2d(a, 3, 2, 1, count_include_pad=False)",
       "any_(2, 1, 5, 4)",
       of(avg_pool2d, {.size = 3, .stride = 2, .padding = 1, .count_include_pad = false})},
      {"avg_pool2d_ceil_excluded",
       "F.avg_pool2d(a, (2, 3), (3, 2), (1, 1), ceil_mode=True, count_include_pad=False)",
       "any_(1, 2, 6, 4)",
       of(avg_pool2d, {.size = {2, 3},
                       .stride = {3, 2},
                       .padding = 1,
                       .ceil_mode = true,
                       .count_include_pad = false})},
      {"max_pool1d", "F.max_pool1d(a, 3, 2, 1)", "spread(2, 2, 6)",
       of(max_pool1d, {.size = 3, .stride = 2, .padding = 1})},
      {"max_pool1d_ceil", "F.max_pool1d(a, 2, ceil_mode=True)", "spread(2, 2, 5)",
       of(max_pool1d, {.ceil_mode = true})},
      {"avg_pool1d", "F.avg_pool1d(a, 3, 2, 1)", "any_(2, 2, 6)",
       of(avg_pool1d, {.size = 3, .stride = 2, .padding = 1})},
      {"avg_pool1d_excluded", "F.avg_pool1d(a, 3, 2, 1, ceil_mode=True, count_include_pad=False)",
       "any_(2, 2, 6)",
       of(avg_pool1d,
          {.size = 3, .stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false})},
      {"adaptive_max_pool2d", "F.adaptive_max_pool2d(a, (2, 3))", "spread(2, 2, 5, 4)",
       [](In x) {
         return adaptive_max_pool2d(x[0], {2, 3});
       }},
      {"adaptive_max_pool2d_larger", "F.adaptive_max_pool2d(a, (5, 1))", "spread(1, 2, 3, 4)",
       [](In x) {
         return adaptive_max_pool2d(x[0], {5, 1});
       }},
      {"adaptive_avg_pool2d", "F.adaptive_avg_pool2d(a, (2, 3))", "any_(2, 2, 5, 4)",
       [](In x) {
         return adaptive_avg_pool2d(x[0], {2, 3});
       }},
      {"adaptive_avg_pool2d_larger", "F.adaptive_avg_pool2d(a, (5, 1))", "any_(1, 2, 3, 4)",
       [](In x) {
         return adaptive_avg_pool2d(x[0], {5, 1});
       }},
      {"adaptive_max_pool1d", "F.adaptive_max_pool1d(a, 3)", "spread(2, 2, 7)",
       [](In x) { return adaptive_max_pool1d(x[0], 3); }},
      {"adaptive_avg_pool1d", "F.adaptive_avg_pool1d(a, 3)", "any_(2, 2, 7)",
       [](In x) { return adaptive_avg_pool1d(x[0], 3); }},
  };
}

}  // namespace tapegrad::testing
