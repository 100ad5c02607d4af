// The file that schema_template_main.cc has made, as it is.
        .section .rodata
        .balign 16
        .globl  sonde_schema_template_begin
        .hidden sonde_schema_template_begin
sonde_schema_template_begin:
        .incbin "schema_template.duckdb"
        .globl  sonde_schema_template_end
        .hidden sonde_schema_template_end
sonde_schema_template_end:
        .byte   0
        .section .note.GNU-stack,"",%progbits
