/* The least program that uses an installed hilo. */
#include <hilo.h>
#include <stdio.h>

int main(void) {
    return puts(hilo_version()) < 0;
}
