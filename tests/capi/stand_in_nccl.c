/* As much of NCCL as a comm is made with, where there is no GPU. */
static int version = 22809;

void stand_in_version(int number) {
  version = number;
}

int ncclGetVersion(int* out) {
  *out = version;
  return 0;
}
const char* ncclGetErrorString(int result) {
  return result == 0 ? "no error" : "invalid argument";
}
/* A communicator is the number of its device; below 0 it is none. */
int ncclCommCuDevice(void* comm, int* out) {
  *out = *(int*)comm;
  return *out < 0 ? 4 : 0;
}
int ncclCommGetAsyncError(void* comm, int* out) {
  (void)comm;
  *out = 0;
  return 0;
}
int ncclGroupStart(void) {
  return 0;
}
int ncclGroupEnd(void) {
  return 0;
}
int ncclAllReduce(void) {
  return 3;
}
int ncclAllGather(void) {
  return 3;
}
int ncclSend(void) {
  return 3;
}
int ncclRecv(void) {
  return 3;
}
int ncclCommCount(void* comm, int* out) {
  (void)comm;
  *out = 1;
  return 0;
}
