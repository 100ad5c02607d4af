// The rules of the program, one file behind the other, each behind a line with its name.
        .section .rodata
        .globl  sonde_advisor_rules, sonde_advisor_rules_end
        .hidden sonde_advisor_rules, sonde_advisor_rules_end
        .balign 16
sonde_advisor_rules:
        .incbin SONDE_ADVISOR_RULES
sonde_advisor_rules_end:
        .byte   0
        .section .note.GNU-stack, "", %progbits
