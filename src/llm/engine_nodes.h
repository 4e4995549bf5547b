/* What node 0 of an engine on several nodes sends to the others (engine_nodes.c): messages of commands, one after the other. A
 * message is a block of LLM_NODE_BLOCK bytes, its length and then its first bytes, and another block with the rest of a long
 * one. All nodes are of one build (net.c checks that), so that commands are structs. */
#ifndef HILO_LLM_ENGINE_NODES_H
#define HILO_LLM_ENGINE_NODES_H

#include <stdint.h>

enum { LLM_NODE_BLOCK = 4096, LLM_NODE_FIRST = LLM_NODE_BLOCK - sizeof(uint64_t) }; /* what follows the length */

enum llm_node_kind { LLM_NODE_UPLOAD, LLM_NODE_ZEROS, LLM_NODE_RELEASE, LLM_NODE_COMPILE, LLM_NODE_RUN, LLM_NODE_CLOSE };

/* Followed by `bytes` of data, up to a multiple of 8: UPLOAD: the elements; COMPILE: a portable artifact; RUN: u32[nin]
   arguments, u32[nout] results, u8[nin] donations. */
struct llm_node_command {
    uint32_t kind, id; /* of an array, or of a program */
    uint32_t nin, nout;
    uint32_t dtype, rank;
    int64_t dims[4];
    uint64_t bytes;
};

#endif
