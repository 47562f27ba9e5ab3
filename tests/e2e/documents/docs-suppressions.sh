printf '%s\n' leak:register_command 'leak:^init_*_table$' leak:libold.so >lsan.supp
