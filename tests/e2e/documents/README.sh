for name in old new; do heapcast run -q -o $name.heapcast -- ./app; done
rm tests
ln -s app tests
