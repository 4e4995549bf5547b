/* Descriptions of devices, which need no client. */
#include "comm/comm.h"
#include "pjrt/pjrt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__x86_64__)
#define MACHINE "x86-64"
#elif defined(__aarch64__)
#define MACHINE "AArch64"
#else
#define MACHINE "unknown machine"
#endif

struct pjrt_error *pjrt_topology_init(struct pjrt_topology *t, size_t ndevices, const char *gpu) {
    *t = (struct pjrt_topology){.descriptions = pjrt_alloc(ndevices, sizeof *t->descriptions),
                                .list = pjrt_alloc(ndevices, sizeof *t->list),
                                .platform = gpu ? PJRT_PLATFORM_GPU : PJRT_PLATFORM, .target = gpu ? gpu : ""};
    struct strbuf version;
    strbuf_init(&version, mem_system_allocator());
    strbuf_printf(&version, "hilo %s, PJRT %d.%d, %s%s%s", hilo_version(), PJRT_MAJOR, PJRT_MINOR, MACHINE, gpu ? ", GPU " : "",
                  t->target);
    t->version = version.failed ? NULL : pjrt_dup(version.p, version.n);
    bool ok = t->descriptions && t->list && t->version;
    t->ndevices = ok ? ndevices : 0;
    for (size_t i = 0; i < t->ndevices; i++) {
        char text[32];
        int n = snprintf(text, sizeof text, "HILO_%s%zu", gpu ? "GPU_" : "", i);
        t->descriptions[i] = (struct pjrt_description){.id = (int)i, .text = pjrt_dup(text, (size_t)n), .kind = t->platform};
        t->list[i] = &t->descriptions[i];
        ok = ok && t->descriptions[i].text;
    }
    if (ok)
        t->fingerprint = str_hash(version.p, version.n, ndevices);
    strbuf_free(&version);
    if (ok)
        return NULL;
    pjrt_topology_free(t);
    return pjrt_exhausted();
}

void pjrt_topology_of_nodes(struct pjrt_topology *t, const struct comm *comm) {
    for (size_t i = 0; i < t->ndevices; i++)
        t->descriptions[i].process = (int)comm_node_of_device(comm, (uint32_t)i);
}

void pjrt_topology_free(struct pjrt_topology *t) {
    for (size_t i = 0; i < t->ndevices; i++)
        free(t->descriptions[i].text);
    free(t->descriptions);
    free(t->list);
    free(t->version);
    *t = (struct pjrt_topology){.ndevices = 0};
}

/* ---- topologies of their own ----------------------------------------------------------------- */

static struct pjrt_error *topology_new(size_t ndevices, bool gpu, struct pjrt_topology **out) {
    struct pjrt_topology *t = pjrt_alloc(1, sizeof *t);
    if (!t)
        return pjrt_exhausted();
    struct pjrt_error *error = pjrt_topology_init(t, ndevices, gpu ? "" : NULL);
    if (error)
        free(t);
    else
        *out = t;
    return error;
}

struct pjrt_error *pjrt_TopologyDescription_Create(struct pjrt_TopologyDescription_Create *a) {
    struct pjrt_client_options options;
    PJRT_TRY(pjrt_client_options_read(a->create_options, a->noptions, &options, NULL));
    return topology_new((size_t)options.devices, strncmp(options.device, "gpu", 3) == 0, &a->topology);
}

struct pjrt_error *pjrt_TopologyDescription_Destroy(struct pjrt_TopologyDescription_Destroy *a) {
    if (a->topology)
        pjrt_topology_free(a->topology);
    free(a->topology);
    return NULL;
}

/* A topology as bytes: the platform, then the number of its devices. */
static const char topology_head[] = "-topology ";

struct pjrt_error *pjrt_TopologyDescription_Serialize(struct pjrt_TopologyDescription_Serialize *a) {
    char text[64];
    int n = snprintf(text, sizeof text, "%s%s%zu", a->topology->platform, topology_head, a->topology->ndevices);
    a->owner = pjrt_bytes_copy(text, (size_t)n, &a->bytes);
    a->nbytes = (size_t)n;
    a->deleter = pjrt_bytes_delete;
    return a->owner ? NULL : pjrt_exhausted();
}

struct pjrt_error *pjrt_TopologyDescription_Deserialize(struct pjrt_TopologyDescription_Deserialize *a) {
    struct str s = {a->bytes, a->bytes ? a->nbytes : 0};
    bool gpu = str_starts(s, PJRT_PLATFORM_GPU);
    size_t at = gpu ? sizeof PJRT_PLATFORM_GPU - 1 : sizeof PJRT_PLATFORM - 1, n = 0;
    bool ok = gpu || str_starts(s, PJRT_PLATFORM);
    struct str rest = ok ? (struct str){s.p + at, s.n - at} : s;
    at += sizeof topology_head - 1;
    ok = ok && str_starts(rest, topology_head) && s.n > at && s.n - at <= 4;
    for (; ok && at < s.n; at++) {
        ok = s.p[at] >= '0' && s.p[at] <= '9';
        n = n * 10 + (size_t)(s.p[at] - '0');
    }
    if (!ok || n < 1 || n > PJRT_MOST_DEVICES)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "these %zu bytes are no topology of " PJRT_PLATFORM, s.n);
    return topology_new(n, gpu, &a->topology);
}

/* ---- properties ------------------------------------------------------------------------------ */

struct pjrt_error *pjrt_TopologyDescription_PlatformName(struct pjrt_TopologyDescription_PlatformName *a) {
    a->text = a->topology->platform;
    a->text_size = strlen(a->text);
    return NULL;
}

struct pjrt_error *pjrt_TopologyDescription_PlatformVersion(struct pjrt_TopologyDescription_PlatformVersion *a) {
    a->text = a->topology->version;
    a->text_size = strlen(a->text);
    return NULL;
}

struct pjrt_error *pjrt_TopologyDescription_GetDeviceDescriptions(struct pjrt_TopologyDescription_GetDeviceDescriptions *a) {
    a->descriptions = a->topology->list;
    a->ndescriptions = a->topology->ndevices;
    return NULL;
}

struct pjrt_error *pjrt_TopologyDescription_Attributes(struct pjrt_TopologyDescription_Attributes *a) {
    a->attributes = NULL;
    a->n = 0;
    return NULL;
}

struct pjrt_error *pjrt_TopologyDescription_Fingerprint(struct pjrt_TopologyDescription_Fingerprint *a) {
    a->fingerprint = a->topology->fingerprint;
    return NULL;
}

static const int topology_kinds[PJRT_NKINDS] = {PJRT_MEMORY_DEVICE, PJRT_MEMORY_PINNED, PJRT_MEMORY_UNPINNED};

struct pjrt_error *pjrt_TopologyDescription_GetMemorySpaceKindIds(struct pjrt_TopologyDescription_GetMemorySpaceKindIds *a) {
    a->kind_ids = topology_kinds;
    a->n = PJRT_NKINDS;
    return NULL;
}

/* ---- device descriptions --------------------------------------------------------------------- */

struct pjrt_error *pjrt_DeviceDescription_Id(struct pjrt_DeviceDescription_Id *a) {
    a->id = a->description->id;
    return NULL;
}

struct pjrt_error *pjrt_DeviceDescription_ProcessIndex(struct pjrt_DeviceDescription_ProcessIndex *a) {
    a->process_index = a->description->process;
    return NULL;
}

struct pjrt_error *pjrt_DeviceDescription_Attributes(struct pjrt_DeviceDescription_Attributes *a) {
    a->attributes = NULL;
    a->n = 0;
    return NULL;
}

struct pjrt_error *pjrt_DeviceDescription_Kind(struct pjrt_DeviceDescription_Kind *a) {
    a->text = a->description->kind;
    a->text_size = strlen(a->text);
    return NULL;
}

struct pjrt_error *pjrt_DeviceDescription_DebugString(struct pjrt_DeviceDescription_DebugString *a) {
    a->text = a->description->text;
    a->text_size = strlen(a->text);
    return NULL;
}

struct pjrt_error *pjrt_DeviceDescription_ToString(struct pjrt_DeviceDescription_ToString *a) {
    a->text = a->description->text;
    a->text_size = strlen(a->text);
    return NULL;
}
