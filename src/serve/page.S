// The built page, compressed, file by file (cmake/WebPage.cmake). A pair of symbols each.
        .section .rodata
        .macro  page_file symbol, path
        .globl  \symbol, \symbol\()_end
        .hidden \symbol, \symbol\()_end
        .balign 16
\symbol:
        .incbin "\path"
\symbol\()_end:
        .byte   0
        .endm
        page_file sonde_page_index, SONDE_PAGE_INDEX
        page_file sonde_page_script, SONDE_PAGE_SCRIPT
        page_file sonde_page_style, SONDE_PAGE_STYLE
        .section .note.GNU-stack, "", %progbits
