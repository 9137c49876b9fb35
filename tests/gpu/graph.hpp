// A captured piece of work that can be replayed.
#pragma once

#include "tests/gpu/gpu.hpp"

namespace tare::kernels::test {

class Graph {
 public:
  template <class Body>
  Graph(cudaStream_t stream, const Body& body) {
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    body();
    must(cudaStreamEndCapture(stream, &graph_));
    must(cudaGraphInstantiate(&executable_, graph_, 0));
  }
  ~Graph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void replay(cudaStream_t stream) const { must(cudaGraphLaunch(executable_, stream)); }
  std::size_t nodes() const {
    std::size_t count = 0;
    must(cudaGraphGetNodes(graph_, nullptr, &count));
    return count;
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace tare::kernels::test
