heapcast export --format collapsed -o profile.collapsed last
