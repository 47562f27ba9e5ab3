echo 'select * from recording; select count(*) from allocations' >questions.sql
heapcast serve app.heapcast >serve.out 2>&1 &
until grep -q Serving serve.out; do sleep 0.1; done
