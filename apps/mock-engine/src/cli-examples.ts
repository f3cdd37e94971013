/** What `--help` ends with. */
export const helpExamples = `Examples:
  one engine that looks like vLLM, on port 8000
    router-mock-engine
  three engines with KV events and replay, ten times faster than real time, for a router in front of them
    for i in 0 1 2; do
      router-mock-engine --port 800$i --kv-events "tcp://*:555$i" --kv-events-replay "tcp://*:565$i" --speedup 10 &
    done
  one that looks like SGLang, with four data-parallel ranks that publish on ports 5557 to 5560
    router-mock-engine --flavour sglang --data-parallel-size 4 --kv-events "tcp://*:5557"
  faults: every tenth request is refused, and the first three streams break off after two chunks
    router-mock-engine --fault error:status=503,fraction=0.1 --fault cut:after_chunks=2,times=3
  the tokenizer and chat template of a real model, from a Hugging Face folder
    router-mock-engine --model qwen3 --model-folder ./qwen3
  the built-in tokenizer and chat template, for the router under test
    router-mock-engine --write-model ./mock-model`
