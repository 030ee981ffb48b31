#include "ops/table.h"
#include "tapegrad/ops/conv.h"
#include "tapegrad/ops/pool.h"

namespace tapegrad::testing {
namespace {

using In = const std::vector<Tensor>&;

Function of(Tensor (*pool)(const Tensor&, PoolOptions, Place), const PoolOptions& options) {
  return [=](In x) { return pool(x[0], options, Place::here()); };
}

std::vector<Row> rows_of_ops() {
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

std::vector<Row> rows_of_windows() {
  return {
      {"conv2d_extents",
       [](In x) {
         return conv2d(x[0], x[1], {.stride = {2, 1}, .padding = {0, 2}, .dilation = {1, 2}});
       }},
      {"conv2d_extents_grouped",
       [](In x) {
         return conv2d(x[0], x[1],
                       {.stride = {1, 3}, .padding = {2, 1}, .dilation = {2, 1}, .groups = 2});
       }},
      {"conv_transpose2d_extents",
       [](In x) {
         return conv_transpose2d(
             x[0], x[1],
             {.stride = {3, 2}, .padding = {1, 0}, .output_padding = {2, 1}, .dilation = {1, 2}});
       }},
      {"max_pool2d_extents", of(max_pool2d, {.size = {3, 2}, .stride = {1, 2}, .padding = {1, 0}})},
      {"max_pool2d_ceil",
       of(max_pool2d, {.size = 3, .stride = 2, .padding = 1, .ceil_mode = true})},
      {"max_pool2d_ceil_beyond",
       of(max_pool2d, {.size = {4, 3}, .stride = {3, 2}, .ceil_mode = true})},
      {"avg_pool2d_extents", of(avg_pool2d, {.size = {2, 3}, .stride = {1, 2}, .padding = {1, 0}})},
      {"avg_pool2d_ceil",
       of(avg_pool2d, {.size = 3, .stride = 2, .padding = 1, .ceil_mode = true})},
      {"avg_pool2d_excluded",
       of(avg_pool2d, {.size = 3, .stride = 2, .padding = 1, .count_include_pad = false})},
      {"avg_pool2d_ceil_excluded", of(avg_pool2d, {.size = {2, 3},
                                                   .stride = {3, 2},
                                                   .padding = 1,
                                                   .ceil_mode = true,
                                                   .count_include_pad = false})},
      {"max_pool1d", of(max_pool1d, {.size = 3, .stride = 2, .padding = 1})},
      {"max_pool1d_ceil", of(max_pool1d, {.ceil_mode = true})},
      {"avg_pool1d", of(avg_pool1d, {.size = 3, .stride = 2, .padding = 1})},
      {"avg_pool1d_excluded",
       of(avg_pool1d,
          {.size = 3, .stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false})},
      {"adaptive_max_pool2d",
       [](In x) {
         return adaptive_max_pool2d(x[0], {2, 3});
       }},
      {"adaptive_max_pool2d_larger",
       [](In x) {
         return adaptive_max_pool2d(x[0], {5, 1});
       }},
      {"adaptive_avg_pool2d",
       [](In x) {
         return adaptive_avg_pool2d(x[0], {2, 3});
       }},
      {"adaptive_avg_pool2d_larger",
       [](In x) {
         return adaptive_avg_pool2d(x[0], {5, 1});
       }},
      {"adaptive_max_pool1d", [](In x) { return adaptive_max_pool1d(x[0], 3); }},
      {"adaptive_avg_pool1d", [](In x) { return adaptive_avg_pool1d(x[0], 3); }},
  };
}

}  // namespace

std::vector<Row> windows_rows() {
  std::vector<Row> rows = rows_of_ops();
  for (Row& row : rows_of_windows()) {
    row.file = "windows.json";
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tapegrad::testing
