#include "capi/src/handles.hpp"

using namespace tare::capi;

const char* tare_text_data(const tare_text* text) {
  return text == nullptr || !is_intact(text) ? "" : text->text.c_str();
}

uint64_t tare_text_size(const tare_text* text) {
  return text == nullptr || !is_intact(text) ? 0 : text->text.size();
}

void tare_text_destroy(tare_text* text) {
  destroy(text);
}
