#include "tapegrad/train/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "tapegrad/io/internal/csv_fields.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/run_log.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr const char* norms_header =
    "step,norm,input_mean,input_variance,gradient_mean_after,gradient_mean_before,"
    "gradient_variance_after,gradient_variance_before,variance_ratio,greatest_variance_ratio,"
    "gradient_mean_before_scaled\n";
constexpr const char* weights_header = "step,weight,norm,gradient_norm,radial,angle\n";

// Mean and variance of each set that a norm normalizes together.
struct Statistics {
  std::vector<double> means, variances;
};

Statistics statistics(const Tensor& x, const Norm& norm) {
  const NoGrad off;  // they are not of the step
  const NormField field = norm.fields_of(x.shape()).scale;
  std::vector<int> inside = field.axes;
  inside.insert(inside.end(), field.window.begin(), field.window.end());
  for (int& axis : inside) axis = axis < 0 ? axis + x.rank() : axis;
  std::sort(inside.begin(), inside.end());
  std::vector<int> order;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (!std::binary_search(inside.begin(), inside.end(), axis)) order.push_back(axis);
  Index sets = field.groups;  // of the channels, which come first among the axes inside
  for (const int axis : order) sets *= x.shape()[axis];
  order.insert(order.end(), inside.begin(), inside.end());
  const Tensor rows = reshape(permute(x, order), {sets, x.size() / std::max<Index>(sets, 1)});
  const auto listed = [](const Tensor& t) {
    return std::vector<double>(t.values().begin(), t.values().end());
  };
  return {listed(mean(rows, 1)), listed(var(rows, 1))};
}

double norm_of(const Tensor& x) { return norm(x).item(); }

template <class... Cells>
std::string line_of(const Cells&... cells) {
  return csv_line(std::vector<std::string>{fmt::format("{}", cells)...});
}

// The cells of one line, one after another.
class Cells {
 public:
  explicit Cells(CsvFields& fields) : fields_(fields) {}

  Cells& operator>>(std::string& text) {
    text = next();
    return *this;
  }
  template <class Number>
  Cells& operator>>(Number& number) {
    const std::string_view text = next();
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    good_ = good_ && error == std::errc() && rest == end;
    return *this;
  }
  /// Whether all cells were valid and none is left.
  bool good() const { return good_ && ended_; }

 private:
  std::string_view next() {
    good_ = good_ && !ended_;
    if (!good_) return "";
    const std::string_view field = fields_.next();
    ended_ = fields_.line_has_ended();
    return field;
  }

  CsvFields& fields_;
  bool good_ = true, ended_ = false;
};

void read(Cells& cells, NormRecord& r) {
  cells >> r.step >> r.norm >> r.input_mean >> r.input_variance >> r.mean_after >> r.mean_before >>
      r.variance_after >> r.variance_before >> r.variance_ratio >> r.greatest_ratio >>
      r.mean_scaled;
}
void read(Cells& cells, WeightRecord& r) {
  cells >> r.step >> r.weight >> r.norm >> r.gradient_norm >> r.radial >> r.angle;
}

// Throws DataError, naming file and line.
template <class Record>
std::vector<Record> read_records(const std::string& path, const char* header) {
  const std::string text = read_text(path);
  expect<DataError>(text.starts_with(header), "{}: it was not written by --probe", path);
  CsvFields fields(text, ',', path);
  do fields.next();
  while (!fields.line_has_ended());
  std::vector<Record> records;
  while (!fields.at_end()) {
    Cells cells(fields);
    read(cells, records.emplace_back());
    expect<DataError>(cells.good(), "{}: line {} is not a record", path, fields.line());
  }
  return records;
}

// The records up to a step; none if there is no such file.
template <class Record>
std::vector<Record> earlier_records(const std::string& path, const char* header, Index last_step) {
  if (!is_there(path)) return {};
  std::vector<Record> records = read_records<Record>(path, header);
  std::erase_if(records, [&](const Record& record) { return record.step > last_step; });
  return records;
}

void write_text(const std::string& path, const std::string& text) {
  write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace

Probe::Probe(const Fields& net) : names_(net.norms()) {}

AroundNorms::Around Probe::around() {
  return [this](const Norm& norm, const Tensor& x, const AroundNorms::Apply& apply) {
    Sums& sums = sums_[norm.identity()];
    const auto after = std::make_shared<Statistics>();  // of the gradient, which arrives first
    const auto scales = std::make_shared<std::vector<double>>();
    const auto compare = [&sums, norm, after, scales](const Tensor& gradient) {
      const Statistics before = statistics(gradient, norm);
      for (std::size_t i = 0; i < after->means.size(); ++i) {
        const double mean = before.means[i], variance = before.variances[i], scale = (*scales)[i];
        if (after->variances[i] == 0 || !std::isfinite(scale)) continue;
        const double scaled = variance * scale * scale;
        ++sums.compared;
        sums.mean_after += after->means[i] * after->means[i];
        sums.mean_before += mean * mean;
        sums.mean_scaled += mean * mean * scale * scale;
        sums.variance_after += after->variances[i];
        sums.variance_before += variance;
        sums.variance_scaled += scaled;
        sums.greatest_ratio = std::max(sums.greatest_ratio, scaled / after->variances[i]);
      }
    };
    const Tensor in = probe(x, {.gradient = compare});
    const Tensor y = apply(in);
    const Statistics input = statistics(x, norm), output = statistics(y, norm);
    for (std::size_t i = 0; i < input.means.size(); ++i) {
      sums.input_mean += input.means[i];
      sums.input_variance += input.variances[i];
      // The norm's divisor, for any norm.
      scales->push_back(std::sqrt(input.variances[i] / output.variances[i]));
    }
    sums.sets += static_cast<double>(input.means.size());
    return probe(y, {.gradient = [norm, after](const Tensor& g) { *after = statistics(g, norm); }});
  };
}

void Probe::around_update(Index step, const std::vector<Parameter>& parameters,
                          const std::vector<Tensor>& gradients,
                          const std::function<void()>& update) {
  for (const auto& [name, identity] : names_) {
    const auto found = sums_.find(identity);
    if (found == sums_.end() || found->second.compared == 0) continue;  // no gradient
    const Sums& s = found->second;
    norms_.push_back({step, name, s.input_mean / s.sets, s.input_variance / s.sets,
                      std::sqrt(s.mean_after / s.compared), std::sqrt(s.mean_before / s.compared),
                      s.variance_after / s.compared, s.variance_before / s.compared,
                      s.variance_scaled / s.variance_after, s.greatest_ratio,
                      std::sqrt(s.mean_scaled / s.compared)});
  }
  sums_.clear();

  std::vector<Tensor> before;
  for (const Parameter& parameter : parameters)
    before.push_back(Tensor(parameter.shape(), parameter.value().values()));
  update();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor &old = before[i], &now = parameters[i].value();
    if (is_vector(old.shape())) continue;
    const double size = norm_of(old);
    // Half the chord between the directions, since the cosine of such a small angle loses all
    // digits.
    const double half_chord = norm_of(old / size - now / norm_of(now)) / 2;
    weights_.push_back({step, parameters[i].name(), size, norm_of(gradients[i]),
                        sum(old * gradients[i]).item(), 2 * std::asin(std::min(half_chord, 1.0))});
  }
}

void Probe::resume(const std::string& directory, Index steps_done) {
  norms_ =
      earlier_records<NormRecord>(directory + "/" + probe_norms_file, norms_header, steps_done);
  weights_ = earlier_records<WeightRecord>(directory + "/" + probe_weights_file, weights_header,
                                           steps_done);
}

void Probe::write(const std::string& directory) const {
  std::string norms = norms_header, weights = weights_header;
  for (const NormRecord& r : norms_)
    norms += line_of(r.step, r.norm, r.input_mean, r.input_variance, r.mean_after, r.mean_before,
                     r.variance_after, r.variance_before, r.variance_ratio, r.greatest_ratio,
                     r.mean_scaled);
  for (const WeightRecord& r : weights_)
    weights += line_of(r.step, r.weight, r.norm, r.gradient_norm, r.radial, r.angle);
  write_text(directory + "/" + probe_norms_file, norms);
  write_text(directory + "/" + probe_weights_file, weights);
}

std::vector<NormRecord> read_norm_records(const std::string& directory) {
  const std::string path = directory + "/" + probe_norms_file;
  std::vector<NormRecord> records = read_records<NormRecord>(path, norms_header);
  expect<DataError>(!records.empty(), "{}: it has no records", path);
  return records;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
