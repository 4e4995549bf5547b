/* Functions of the interface that are not implemented. */
#include "pjrt/pjrt.h"

#define REFUSE(name, why)                                       \
    struct pjrt_error *pjrt_##name(struct pjrt_##name *a) {     \
        (void)a;                                                \
        return pjrt_fail(HILO_UNIMPLEMENTED, #name ": " why);   \
    }

REFUSE(CopyToDeviceStream_AddChunk, "programs do not receive from the host")
REFUSE(CopyToDeviceStream_TotalBytes, "programs do not receive from the host")
REFUSE(CopyToDeviceStream_GranuleSize, "programs do not receive from the host")
REFUSE(CopyToDeviceStream_CurrentBytes, "programs do not receive from the host")
REFUSE(CopyToDeviceStream_Destroy, "programs do not receive from the host")
REFUSE(Device_PoisonExecution, "runs cannot be poisoned")
REFUSE(TopologyDescription_MakeCanonicalShapeForMemorySpace, "shapes have one form in all memories")
