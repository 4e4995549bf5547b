/* What this plugin does not do, and says so. */
#include "pjrt/pjrt.h"

#define REFUSE(name, why)                                       \
    struct pjrt_error *pjrt_##name(struct pjrt_##name *a) {     \
        (void)a;                                                \
        return pjrt_fail(HILO_UNIMPLEMENTED, #name ": " why);   \
    }

REFUSE(CopyToDeviceStream_Destroy, "not supported")
REFUSE(CopyToDeviceStream_AddChunk, "not supported")
REFUSE(CopyToDeviceStream_TotalBytes, "not supported")
REFUSE(CopyToDeviceStream_GranuleSize, "not supported")
REFUSE(CopyToDeviceStream_CurrentBytes, "not supported")
REFUSE(ExecuteContext_Create, "not supported")
REFUSE(ExecuteContext_Destroy, "not supported")
REFUSE(AsyncHostToDeviceTransferManager_Destroy, "not supported")
REFUSE(AsyncHostToDeviceTransferManager_TransferData, "not supported")
REFUSE(Client_CreateBuffersForAsyncHostToDevice, "not supported")
REFUSE(AsyncHostToDeviceTransferManager_RetrieveBuffer, "not supported")
REFUSE(AsyncHostToDeviceTransferManager_Device, "not supported")
REFUSE(AsyncHostToDeviceTransferManager_BufferCount, "not supported")
REFUSE(AsyncHostToDeviceTransferManager_BufferSize, "not supported")
REFUSE(AsyncHostToDeviceTransferManager_SetBufferError, "not supported")
REFUSE(AsyncHostToDeviceTransferManager_AddMetadata, "not supported")
REFUSE(Client_UpdateGlobalProcessInfo, "not supported")
REFUSE(Client_CreateAliasBuffer, "not supported")
REFUSE(Client_FulfillAliasBuffer, "not supported")
REFUSE(Client_CreateErrorBuffer, "not supported")
REFUSE(AsyncHostToDeviceTransferManager_TransferLiteral, "not supported")
REFUSE(Device_PoisonExecution, "not supported")
REFUSE(Buffer_DonateWithControlDependency, "not supported")
REFUSE(TopologyDescription_MakeCanonicalShapeForMemorySpace, "not supported")
