#include "lib/container/keras.hpp"

#include "lib/container/recognised.hpp"
#include "lib/container/zip_members.hpp"

namespace tare {

bool is_keras(const ZipArchive& archive) {
  return archive.find("config.json") != nullptr &&
         (archive.find("model.weights.h5") != nullptr || archive.find("model.weights.npz") != nullptr);
}

std::unique_ptr<Container> open_keras(std::unique_ptr<const ZipArchive> archive) {
  return recognised("keras", "Keras", check_members(*archive));
}

}  // namespace tare
