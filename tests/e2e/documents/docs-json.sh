heapcast import app.heapcast >import.out
