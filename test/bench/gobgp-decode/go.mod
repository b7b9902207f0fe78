module herald.dev/bench/gobgp-decode

go 1.25.0

require github.com/osrg/gobgp/v4 v4.8.0
