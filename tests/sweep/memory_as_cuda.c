/* Stands in for CUDA's driver (the functions of cuda.h that kappa-measure ring-traffic calls): two GPUs, whose memory is the host's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPUS 2
static int current = -1;

int cuInit(unsigned flags) { return flags != 0; }
int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal < GPUS ? 0 : 101; /* CUDA_ERROR_INVALID_DEVICE */
}
int cuDeviceGetPCIBusId(char* bus, int length, int device) {
    return snprintf(bus, (size_t)length, "0000:%02x:00.0", 0x3b + device) >= length;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
    *context = (void*)(size_t)(device + 1);
    return 0;
}
int cuCtxSetCurrent(void* context) {
    current = (int)(size_t)context - 1;
    return 0;
}
int cuCtxSynchronize(void) { return current < 0; }
int cuMemAlloc_v2(size_t* pointer, size_t bytes) {
    *pointer = (size_t)malloc(bytes);
    return current < 0 || !*pointer;
}
int cuMemsetD8_v2(size_t pointer, unsigned char value, size_t bytes) {
    memset((void*)pointer, value, bytes);
    return 0;
}
int cuMemcpyDtoH_v2(void* host, size_t pointer, size_t bytes) {
    memcpy(host, (void*)pointer, bytes);
    return 0;
}
