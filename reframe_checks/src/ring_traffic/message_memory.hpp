// Memory of a message: the host's, or a GPU's.
//
// CUDA's driver (libcuda.so.1, loaded when needed) allocates GPU memory. So the program builds without CUDA, and MPI,
// which must support CUDA, gets a pointer of the device.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace measure::ring_traffic {

class MessageMemory {
public:
    MessageMemory() = default;
    MessageMemory(const MessageMemory&) = delete;
    MessageMemory& operator=(const MessageMemory&) = delete;
    virtual ~MessageMemory() = default;
    // Returns ``bytes`` of memory filled with ``value``. It lives as long as the process, since MPI may hold it.
    virtual char* filled(std::size_t bytes, char value) = 0;
    virtual char at(const char* place) const = 0;
};

class HostMemory : public MessageMemory {
public:
    char* filled(std::size_t bytes, char value) override {
        return blocks_.emplace_back(bytes, value).data();
    }
    char at(const char* place) const override { return *place; }

private:
    std::vector<std::vector<char>> blocks_;
};

class GpuMemory : public MessageMemory {
public:
    // Memory of the node's ``ordinal``-th visible GPU, which becomes the thread's current GPU.
    explicit GpuMemory(int ordinal) : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
        if (!library_) {
            throw std::runtime_error(std::string("no CUDA driver on this node: ") + dlerror());
        }
        call<unsigned>("cuInit", 0);
        call<Device*, int>("cuDeviceGet", &device_, ordinal);
        call<char*, int, Device>("cuDeviceGetPCIBusId", bus_.data(), static_cast<int>(bus_.size()), device_);
        void* context = nullptr;
        call<void**, Device>("cuDevicePrimaryCtxRetain", &context, device_);
        call<void*>("cuCtxSetCurrent", context);
    }
    // PCIe address of the GPU, such as 0000:3b:00.0.
    std::string bus() const { return bus_.data(); }

    char* filled(std::size_t bytes, char value) override {
        Pointer block = 0;
        call<Pointer*, std::size_t>("cuMemAlloc_v2", &block, bytes);
        call<Pointer, unsigned char, std::size_t>("cuMemsetD8_v2", block, static_cast<unsigned char>(value), bytes);
        // The driver may fill the memory later, and MPI does not wait for that.
        call<>("cuCtxSynchronize");
        return reinterpret_cast<char*>(block);
    }
    char at(const char* place) const override {
        char value = 0;
        call<void*, Pointer, std::size_t>("cuMemcpyDtoH_v2", &value, reinterpret_cast<Pointer>(place), 1);
        return value;
    }

private:
    // CUdevice and CUdeviceptr of cuda.h.
    using Device = int;
    using Pointer = std::uintptr_t;

    template <typename... Arguments>
    auto find(const char* name) const {
        void* const symbol = dlsym(library_, name);
        if (!symbol) {
            throw std::runtime_error(std::string("the CUDA driver has no ") + name);
        }
        return reinterpret_cast<int (*)(Arguments...)>(symbol);
    }
    template <typename... Arguments>
    void call(const char* name, Arguments... arguments) const {
        if (const int status = find<Arguments...>(name)(arguments...)) {
            throw std::runtime_error(std::string(name) + " of the CUDA driver: error " + std::to_string(status));
        }
    }

    void* library_;
    Device device_ = 0;
    std::array<char, 16> bus_{};
};

}  // namespace measure::ring_traffic
