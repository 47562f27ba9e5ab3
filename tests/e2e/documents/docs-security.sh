for name in heapcast.key ca.pem board.pem board.key; do ln -s "../desk/$name" ../board/; done # as if they were copied
