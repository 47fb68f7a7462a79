listeners = []
