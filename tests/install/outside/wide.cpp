// Takes what a large library, such as PyTorch's, takes of the room that the C library keeps in each
// thread for libraries that are loaded late.
thread_local volatile char wide[1024];

extern "C" char wide_at(int index) { return wide[index]; }
