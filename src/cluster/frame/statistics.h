// Statistics of durations as the reference's tables have them: count, mean, sample deviation,
// quartiles by linear interpolation at (n - 1) q, sum.
//
// Units: those of the values. Pure, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/frame/table.h"

namespace sonde::cluster {

struct Statistics {
  int64_t count = 0;
  double mean = 0;
  double deviation = 0;  // of the sample; NaN of a single value
  double min = 0;
  double q1 = 0;
  double median = 0;
  double q3 = 0;
  double max = 0;
  double sum = 0;
};

// Sorts the values.
Statistics Describe(std::vector<double>& values);

// Of values in ascending order; not empty.
double Quantile(const std::vector<double>& sorted, double q);
double Mean(const std::vector<double>& values);
// Of the whole population, not of a sample of it.
double PopulationDeviation(const std::vector<double>& values);
// As Python's and numpy's round(): half to even of the scaled value.
double Round(double value, int decimals);

// Columns of a table that Set() fills.
#define SONDE_STATISTICS(C)                                                         \
  C(count, Int, "Count", "", "", kNeither, "how often")                             \
  C(mean_ns, Double, "MeanNs", "", "ns", kLess, "mean duration")                    \
  C(std_ns, Double, "StdNs", "", "ns", kLess, "deviation of the sample; NULL of 1") \
  C(min_ns, Double, "MinNs", "", "ns", kLess, "shortest")                           \
  C(q1_ns, Double, "Q1Ns", "", "ns", kLess, "first quartile")                       \
  C(median_ns, Double, "MedianNs", "", "ns", kLess, "median")                       \
  C(q3_ns, Double, "Q3Ns", "", "ns", kLess, "third quartile")                       \
  C(max_ns, Double, "MaxNs", "", "ns", kLess, "longest")                            \
  C(sum_ns, Double, "SumNs", "", "ns", kLess, "sum")

template <class Row>
void Set(const Statistics& statistics, Row& row) {
  row.count = statistics.count;
  row.mean_ns = statistics.mean;
  row.std_ns = statistics.deviation;
  row.min_ns = statistics.min;
  row.q1_ns = statistics.q1;
  row.median_ns = statistics.median;
  row.q3_ns = statistics.q3;
  row.max_ns = statistics.max;
  row.sum_ns = statistics.sum;
}

}  // namespace sonde::cluster
