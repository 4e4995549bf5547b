/* The torture build (HILO_TORTURE) gives bugs a chance, as Lua's ltests.h does: what has a size is as small as it may be,
 * memory moves whenever it can, and what is dead is overwritten. A module uses TORTURED(torture, usual) where it has a
 * choice, so that both builds compile the same code. */
#ifndef HILO_BASE_TORTURE_H
#define HILO_BASE_TORTURE_H

#ifdef HILO_TORTURE
enum { TORTURE = 1 };
#else
enum { TORTURE = 0 };
#endif
#define TORTURED(torture, usual) (TORTURE ? (torture) : (usual))

enum {
    TORTURE_BLOCK = 64,   /* bytes of a block of memory, or of a piece of a copy */
    TORTURE_ROOM = 1,     /* elements that an array has room for at first */
    TORTURE_BUCKETS = 2,  /* of a hash table at first */
    TORTURE_TILE = 3,     /* rows of a tile, iterations of an unrolled loop */
    TORTURE_PART = 5,     /* elements of what is cut into parts; from there on it pays */
    TORTURE_DEAD = 0xFF   /* bytes of dead memory: NaNs, and indices far outside */
};

#endif
