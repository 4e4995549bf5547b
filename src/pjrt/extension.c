/* Extensions of the interface. */
#include "pjrt/pjrt.h"

const struct pjrt_extension *const pjrt_extensions = NULL;
