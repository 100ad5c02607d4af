// Embeds the files that schema_template_main.cc has made.
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
        .globl  sonde_schema_signature_begin
        .hidden sonde_schema_signature_begin
sonde_schema_signature_begin:
        .incbin "schema_signature.txt"
        .globl  sonde_schema_signature_end
        .hidden sonde_schema_signature_end
sonde_schema_signature_end:
        .byte   0
        .section .note.GNU-stack,"",%progbits
