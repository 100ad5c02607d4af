#include "precision/compare/comparison.h"

namespace sonde::precision {

std::string_view VerdictText(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kError:
      return "error";
    case Verdict::kUnmatched:
      return "unmatched";
  }
  return "";
}

std::string_view MessageText(Message message) {
  switch (message) {
    case Message::kOverflow:
      return "error: There is nan/inf/-inf in the maximum or minimum value of NPU.";
    case Message::kOneThousandth:
      return "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < "
             "0.6.";
    case Message::kRelativeError:
      return "error: The NormRelativeErr of output is greater than 0.5.";
    case Message::kRequiresGrad:
      return "error: The Required_Grad of NPU and Bench are inconsistent";
    case Message::kScalarParameter:
      return "error: The scalar parameters of NPU and Bench are inconsistent.";
    case Message::kDtype:
      return "error: The dtype of NPU and Bench are inconsistent.";
    case Message::kShape:
      return "error: The shape of NPU and Bench are inconsistent.";
    case Message::kNormGrowth:
      return "warning: The norm relative error of output is 10 times that of input.";
    case Message::kCosineDrop:
      return "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1";
    case Message::kChecksum:
      return "error: The CRC-32 value of NPU differs from that of the bench.";
    case Message::kChecksumUnmatched:
      return "warning: The parameter of NPU does not match the bench.";
    case Message::kGoldenOnly:
      return "Only the bench has this parameter.";
    case Message::kUnreadable:
      return "error: The tensor of NPU or bench cannot be read: nothing was compared.";
  }
  return "";
}

void ComparedRow::Report(Message message, Verdict level) {
  messages = static_cast<uint16_t>(messages | (1U << static_cast<unsigned>(message)));
  if (level > verdict) verdict = level;
}

std::string MessageList(const ComparedRow& row) {
  std::string out = "[";
  for (int i = 0; i < kMessageCount; ++i) {
    const auto message = static_cast<Message>(i);
    if (!row.Has(message)) continue;
    if (out.size() > 1) out += ", ";
    out += '"';
    out += MessageText(message);
    out += '"';
  }
  out += ']';
  return out;
}

}  // namespace sonde::precision
