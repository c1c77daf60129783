#include "torch/abi.h"

#include <dlfcn.h>
#include <string.h>

Torch torch;

typedef struct Name {
    const char *name;
    size_t offset;
} Name;

#define NAME(member, function) {function, offsetof(Torch, member)}

static const Name names[] = {
    NAME(get_dim, "aoti_torch_get_dim"),
    NAME(get_sizes, "aoti_torch_get_sizes"),
    NAME(get_strides, "aoti_torch_get_strides"),
    NAME(get_dtype, "aoti_torch_get_dtype"),
    NAME(get_device_type, "aoti_torch_get_device_type"),
    NAME(get_device_index, "aoti_torch_get_device_index"),
    NAME(get_const_data, "torch_get_const_data_ptr"),
    NAME(get_mutable_data, "torch_get_mutable_data_ptr"),
    NAME(empty_strided, "aoti_torch_empty_strided"),
    NAME(delete_tensor, "aoti_torch_delete_tensor_object"),
    NAME(list_size, "torch_list_size"),
    NAME(list_item, "torch_list_get_item"),
    NAME(delete_list, "torch_delete_list"),
    NAME(call, "torch_call_dispatcher"),
    NAME(new_library, "aoti_torch_library_init_impl"),
    NAME(implement, "torch_library_impl"),
    NAME(delete_library, "aoti_torch_delete_library_object"),
    NAME(current_device, "aoti_torch_get_current_device_index"),
    NAME(grad_is_enabled, "aoti_torch_grad_mode_is_enabled"),
    NAME(requires_grad, "_ZNK3c1010TensorImpl13requires_gradEv"),
    NAME(tangent, "_ZNK3c1010TensorImpl8_fw_gradEmRKN2at10TensorBaseE"),
    NAME(no_tensor, "_ZN3c1019UndefinedTensorImpl10_singletonE"),
    NAME(exclude, "_ZN3c104impl23ExcludeDispatchKeyGuardC1ENS_14DispatchKeySetE"),
    NAME(include, "_ZN3c104impl23ExcludeDispatchKeyGuardD1Ev"),
    NAME(fail, "_ZN3c106detail14torchCheckFailEPKcS2_jS2_"),
    NAME(wrap_dimension, "_ZN3c106detail19maybe_wrap_dim_slowIlEET_S2_S2_b"),
    NAME(delete_value, "_ZdlPv"),
    NAME(new_value, "_Znwm"),
};

static const Name cuda_names[] = {
    NAME(current_stream, "aoti_torch_get_current_cuda_stream"),
    NAME(new_guard, "aoti_torch_create_cuda_guard"),
    NAME(delete_guard, "aoti_torch_delete_cuda_guard"),
};

static const Name quick_cpu[] = {
    NAME(empty_cpu, "_ZN2at6detail9empty_cpuEN3c108ArrayRefIlEENS1_10ScalarTypeEbSt8optionalINS1_12MemoryFormatEE"),
};

static const Name quick_call[] = {
    NAME(parallel_for, "torch_parallel_for"),
};

static const Name quick_copy[] = {
    NAME(copy, "_ZN2at6native5copy_ERNS_6TensorERKS1_b"),
};

static const Name quick_cuda[] = {
    NAME(empty_cuda, "_ZN2at6detail10empty_cudaEN3c108ArrayRefIlEENS1_10ScalarTypeESt8optionalINS1_6DeviceEES5_"
                     "INS1_12MemoryFormatEE"),
};

static const Name names_inside[] = {
    NAME(key_is_included, "_ZN3c104impl28tls_is_dispatch_key_includedENS_11DispatchKeyE"),
    NAME(has_callbacks, "_ZN2at12hasCallbacksEv"),
    NAME(function_modes, "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv"),
    NAME(wrap, "_Z16THPVariable_WrapRKN2at10TensorBaseE"),
};

/* Libraries that are loaded already: their number of users goes up by one and stays so. */
static const char *find(const char *path, const Name *wanted, size_t count, Torch *found) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (handle == NULL) {
        return path;
    }
    for (size_t i = 0; i < count; ++i) {
        void *address = dlsym(handle, wanted[i].name);
        if (address == NULL) {
            return wanted[i].name;
        }
        memcpy((char *)found + wanted[i].offset, &address, sizeof address);
    }
    return NULL;
}

const char *find_torch(const char *cpu, const char *cuda) {
    Torch found;
    memset(&found, 0, sizeof found);
    const char *missing = find(cpu, names, sizeof names / sizeof *names, &found);
    if (missing == NULL && cuda != NULL) {
        missing = find(cuda, cuda_names, sizeof cuda_names / sizeof *cuda_names, &found);
    }
    if (missing == NULL) {
        (void)find(cpu, quick_cpu, 1, &found);
        (void)find(cpu, quick_copy, 1, &found);
        (void)find(cpu, quick_call, 1, &found);
        (void)(cuda == NULL ? NULL : find(cuda, quick_cuda, 1, &found));
        torch = found;
    }
    return missing;
}

int find_torch_inside(const char *python) {
    Torch found = torch;
    if (find(python, names_inside, sizeof names_inside / sizeof *names_inside, &found) != NULL) {
        return 0;
    }
    torch = found;
    return 1;
}
