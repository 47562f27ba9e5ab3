echo "[--threshold 10s]=--threshold 10s" >>"$WORDS"
