openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=desk -keyout desk.key -out desk.pem
heapcast import app.heapcast
