echo "FILE=attached.heapcast" >>"$WORDS"
