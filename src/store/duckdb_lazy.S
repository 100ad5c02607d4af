// One jump a function of duckdb.h (System V ABI, x86-64). At first a slot leads to a stub that pushes
// the function's number and has it looked up; afterwards it leads to the function itself.

// resolve: keep every register that may carry an argument, ask, go on as if called directly.
        .text
        .p2align 4
resolve:
        push    %rax
        push    %rdi
        push    %rsi
        push    %rdx
        push    %rcx
        push    %r8
        push    %r9
        sub     $136, %rsp
        movups  %xmm0, 0(%rsp)
        movups  %xmm1, 16(%rsp)
        movups  %xmm2, 32(%rsp)
        movups  %xmm3, 48(%rsp)
        movups  %xmm4, 64(%rsp)
        movups  %xmm5, 80(%rsp)
        movups  %xmm6, 96(%rsp)
        movups  %xmm7, 112(%rsp)
        mov     192(%rsp), %rdi
        .hidden sonde_duckdb_resolve
        call    sonde_duckdb_resolve
        mov     %rax, %r11
        movups  0(%rsp), %xmm0
        movups  16(%rsp), %xmm1
        movups  32(%rsp), %xmm2
        movups  48(%rsp), %xmm3
        movups  64(%rsp), %xmm4
        movups  80(%rsp), %xmm5
        movups  96(%rsp), %xmm6
        movups  112(%rsp), %xmm7
        add     $136, %rsp
        pop     %r9
        pop     %r8
        pop     %rcx
        pop     %rdx
        pop     %rsi
        pop     %rdi
        pop     %rax
        add     $8, %rsp
        jmp     *%r11

        .section .data.rel.local, "aw", @progbits
        .p2align 3
        .globl  sonde_duckdb_slots
        .hidden sonde_duckdb_slots
sonde_duckdb_slots:

// \@ counts the uses of the macro: 0, 1, 2 ... in the order of the names in duckdb_lazy.cc.
        .macro  lazy_function name
        .text
        .p2align 4
        .globl  \name
        .hidden \name
        .type   \name, @function
\name:
        jmp     *(sonde_duckdb_slots + 8 * \@)(%rip)
stub\@:
        push    $\@
        jmp     resolve
        .size   \name, . - \name
        .section .data.rel.local
        .quad   stub\@
        .endm

#define FUNCTION(name) lazy_function name
#include "duckdb_functions.inc"

        .section .note.GNU-stack, "", @progbits
